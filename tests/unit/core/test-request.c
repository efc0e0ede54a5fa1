/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the parser of --hybrid-mem, and the table of modes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/request/request.h"
#include "unit/lib/rows.h"

#define MODES                                                                                                          \
    "use off, fast, slow, dram, pmem, cxl, hbm, interleave, spill, isolate, migrate, profile, guided, fsdax or memory"
#define SIZE "size wants a size of 32M to 1024T, digits and K, M, G or T, as in 200G, not "
#define SPILL_KEYS "spill takes socket"
#define OF_MIGRATOR " takes socket, fast, period, interval, bins, algorithm, source, overhead, rate or hot-by"
#define MIGRATE_KEYS "migrate" OF_MIGRATOR
#define FAST                                                                                                           \
    "fast wants a size of at least 1M, digits and K, M, G or T, as in 64G, or 0.01% to 100% of the fast tier, not "
#define PERIOD "period wants a number of accesses from 100 to 1099511627776, not "
#define INTERVAL "interval wants a time of 100ms to 24h, digits and ms, s, min or h, as in 10s, not "
#define BINS "bins wants a number of 16 to 1048576, not "
#define ONLINE "guided,online learns sites while the job runs, and takes no "
#define ONLINE_TAKES ": use socket, fast, packer, overhead or input"
#define INPUT "input wants a word of 1 to 31 letters, digits, dots, - or _ that begins with a letter or digit, not "
#define OVERHEAD "overhead wants a share of the CPUs of 0.01% to 10%, as in 1%, not "
#define PROFILE_RATE "rate wants one of how many accesses, 1/100 to 1/1099511627776, as in 1/4096, not "
#define RATE "rate wants bytes per second, at least 1M, digits and K, M, G or T, as in 200M, not "

static const struct {
    const char *text, *said; /* the error after "--hybrid-mem=TEXT: " */
} refusals[] = {
    {"", "the mode is empty: " MODES},
    {",", "the mode is empty: " MODES},
    {",spill", "the mode is empty: " MODES},
    {"spil", "unknown mode \"spil\": " MODES},
    {"spills", "unknown mode \"spills\": " MODES},
    {"SPILL", "unknown mode \"SPILL\": " MODES},
    {"Spill", "unknown mode \"Spill\": " MODES},
    {"spill ", "unknown mode \"spill \": " MODES},
    {" spill", "unknown mode \" spill\": " MODES},
    {"spill=yes", "unknown mode \"spill=yes\": " MODES},
    {"spill;socket=all", "unknown mode \"spill;socket=all\": " MODES},
    {"socket=all", "unknown mode \"socket=all\": " MODES},
    {"unknown", "unknown mode \"unknown\": " MODES},
    {"%s%n", "unknown mode \"%s%n\": " MODES},
    {"spill,", "a part after a comma is empty: write MODE or MODE,KEY=VALUE"},
    {"spill,,socket=all", "a part after a comma is empty: write MODE or MODE,KEY=VALUE"},
    {"spill,socket=all,", "a part after a comma is empty: write MODE or MODE,KEY=VALUE"},
    {"off,", "a part after a comma is empty: write MODE or MODE,KEY=VALUE"},
    {"spill,socket", "socket wants a value: write socket=local, remote or all"},
    {"spill,socket=", "socket wants local, remote or all, not \"\""},
    {"fast,socket=up", "socket wants local, remote or all, not \"up\""},
    {"spill,socket=LOCAL", "socket wants local, remote or all, not \"LOCAL\""},
    {"spill,socket= all", "socket wants local, remote or all, not \" all\""},
    {"spill,socket=all=all", "socket wants local, remote or all, not \"all=all\""},
    {"spill,socket=locale", "socket wants local, remote or all, not \"locale\""},
    {"spill,socket=local,socket=local", "socket is there twice: write it once"},
    {"spill,socket=local,socket=up", "socket is there twice: write it once"},
    {"spill,sockets=all", "unknown key \"sockets\": " SPILL_KEYS},
    {"spill,Socket=all", "unknown key \"Socket\": " SPILL_KEYS},
    {"spill,=all", "unknown key \"\": " SPILL_KEYS},
    {"fast,slow", "unknown key \"slow\": fast takes socket"},
    {"off,socket=all", "off takes no key, and here is \"socket\": write off alone"},
    {"memory,socket=local", "memory takes no key, and here is \"socket\": write memory alone"},
    {"spill,keep", "spill takes no key \"keep\": it belongs to fsdax"},
    {"off,keep", "off takes no key, and here is \"keep\": write off alone"},
    {"off,fast=1M", "off takes no key, and here is \"fast\": write off alone"},
    /* keys of other modes */
    {"spill,fast=10%", "spill takes no key \"fast\": it belongs to isolate, migrate, guided"},
    {"fast,period=1000", "fast takes no key \"period\": it belongs to isolate, migrate, guided"},
    {"slow,interval=1s", "slow takes no key \"interval\": it belongs to isolate, migrate, guided"},
    {"dram,bins=99", "dram takes no key \"bins\": it belongs to isolate, migrate, guided"},
    {"hbm,algorithm=bins", "hbm takes no key \"algorithm\": it belongs to isolate, migrate, guided"},
    {"interleave,source=auto", "interleave takes no key \"source\": it belongs to isolate, migrate, guided"},
    {"spill,overhead", "spill takes no key \"overhead\": it belongs to isolate, migrate, profile, guided"},
    {"spill,rate=1M", "spill takes no key \"rate\": it belongs to isolate, migrate, profile, guided"},
    /* keys of migrate */
    {"migrate,rates=1M", "unknown key \"rates\": " MIGRATE_KEYS},
    {"migrate,size=1G", "migrate takes no key \"size\": it belongs to fsdax"},
    {"migrate,rate", "rate wants a value: write rate=200M"},
    {"migrate,fast=1G,fast=10%", "fast is there twice: write it once"},
    {"migrate,fast=", FAST "\"\""},
    {"migrate,fast=0", FAST "\"0\""},
    {"migrate,fast=1023K", FAST "\"1023K\""},
    {"migrate,fast=0%", FAST "\"0%\""},
    {"migrate,fast=0.009%", FAST "\"0.009%\""},
    {"migrate,fast=100.1%", FAST "\"100.1%\""},
    {"migrate,fast=10%%", FAST "\"10%%\""},
    {"migrate,fast=-1G", FAST "\"-1G\""},
    {"migrate,fast=1.5G", FAST "\"1.5G\""},
    {"migrate,fast=1GiB", FAST "\"1GiB\""},
    {"migrate,fast=1g", FAST "\"1g\""},
    {"migrate,fast=16777216T", FAST "\"16777216T\""},
    {"migrate,period=99", PERIOD "\"99\""},
    {"migrate,period=1099511627777", PERIOD "\"1099511627777\""},
    {"migrate,period=64K", PERIOD "\"64K\""},
    {"migrate,interval=10", INTERVAL "\"10\""},
    {"migrate,interval=99ms", INTERVAL "\"99ms\""},
    {"migrate,interval=25h", INTERVAL "\"25h\""},
    {"migrate,interval=1m", INTERVAL "\"1m\""},
    {"migrate,interval=30sec", INTERVAL "\"30sec\""},
    {"migrate,bins=15", BINS "\"15\""},
    {"migrate,bins=1048577", BINS "\"1048577\""},
    {"migrate,algorithm=Bins", "algorithm wants regions or bins, not \"Bins\""},
    {"migrate,algorithm=", "algorithm wants regions or bins, not \"\""},
    {"migrate,source=ibs", "source wants one of auto, perf, clock, damon, idle, faults, not \"ibs\""},
    {"migrate,overhead=1", OVERHEAD "\"1\""},
    {"migrate,overhead=0.009%", OVERHEAD "\"0.009%\""},
    {"migrate,overhead=10.01%", OVERHEAD "\"10.01%\""},
    {"migrate,rate=1048575", RATE "\"1048575\""},
    {"migrate,rate=200M/s", RATE "\"200M/s\""},
    {"migrate,hot-by=reads", "hot-by wants accesses or writes, not \"reads\""},
    {"isolate,hot-by", "hot-by wants a value: write hot-by=writes"},
    {"isolate,speed=1", "unknown key \"speed\": isolate" OF_MIGRATOR},
    /* keys of guided */
    {"guided,profile=", "profile wants the path of a file without a comma, not \"\""},
    {"guided,profile=a,packer=", "packer wants the name of a packer, not \"\""},
    {"guided,profile=a,packer=Best", "packer wants the name of a packer, not \"Best\""},
    {"guided,profile=a,packer=abcdefghijklmnop", "packer wants the name of a packer, not \"abcdefghijklmnop\""},
    {"guided,profile=a,rate=1M", "rate is the migrator's, and guided has one only with the key migrate, or "
                                 "fallback=migrate: write guided,migrate,rate=200M"},
    {"guided,migrate=yes", "migrate takes no value: write guided,migrate"},
    {"guided,fallback=spill", "fallback wants migrate, not \"spill\""},
    {"guided,stale=yes", "stale wants ok, not \"yes\""},
    {"guided,online,profile=a", ONLINE "profile" ONLINE_TAKES},
    {"guided,online,migrate", ONLINE "migrate" ONLINE_TAKES},
    {"guided,online,interval=1s", ONLINE "interval" ONLINE_TAKES},
    {"guided,online=yes", "online takes no value: write guided,online"},
    {"guided,fallback", "fallback wants a value: write fallback=migrate"},
    {"migrate,migrate", "migrate takes no key \"migrate\": it belongs to guided"},
    {"spill,profile=a", "spill takes no key \"profile\": it belongs to guided"},
    /* keys of profile */
    {"profile,method=perf", "method wants sample or mbi, not \"perf\""},
    {"profile,rate", "rate wants a value: write rate=1/4096"},
    {"profile,rate=1M", PROFILE_RATE "\"1M\""},
    {"profile,rate=4096", PROFILE_RATE "\"4096\""},
    {"profile,rate=1/99", PROFILE_RATE "\"1/99\""},
    {"profile,rate=2/4096", PROFILE_RATE "\"2/4096\""},
    {"profile,rate=1/4K", PROFILE_RATE "\"1/4K\""},
    {"profile,rate=1/1099511627777", PROFILE_RATE "\"1/1099511627777\""},
    {"profile,rate=1/128,rate=1/128", "rate is there twice: write it once"},
    {"migrate,rate=1/128", RATE "\"1/128\""},
    {"profile,method=mbi", "method=mbi wants a plan: make one with \"hybridmem profile mbi plan -o app.mbi -- "
                           "./app\", and write profile,method=mbi,plan=app.mbi"},
    {"profile,plan=app.mbi", "plan is of method=mbi: write profile,method=mbi,plan=app.mbi"},
    {"profile,method=sample,plan=app.mbi", "plan is of method=mbi: write profile,method=mbi,plan=app.mbi"},
    {"profile,method=mbi,plan=", "plan wants the path of a folder without a comma, not \"\""},
    {"profile,method=mbi,plan=a,rate=1/128", "method=mbi samples nothing: leave out rate"},
    {"profile,method=mbi,plan=a,overhead=1%", "method=mbi samples nothing: leave out overhead"},
    {"profile,socket=local", "profile takes no key \"socket\": it belongs to fast, slow, dram, pmem, cxl, hbm, "
                             "interleave, spill, isolate, migrate, guided, fsdax"},
    {"profile,input=", INPUT "\"\""},
    {"profile,input=-h", INPUT "\"-h\""},
    {"profile,input=a/b", INPUT "\"a/b\""},
    {"profile,input=a b", INPUT "\"a b\""},
    {"guided,input=a+b", INPUT "\"a+b\""},
    {"guided,input=abcdefghijklmnopqrstuvwxyz_12345", INPUT "\"abcdefghijklmnopqrstuvwxyz_12345\""},
    {"guided,input", "input wants a value: write input=large"},
    {"guided,input=a,profile=b", "a profile is named, which has an input of its own: leave out input"},
    {"profile,method=mbi,plan=a,input=b", "a plan is named, which has an input of its own: leave out input"},
    {"migrate,input=a", "migrate takes no key \"input\": it belongs to profile, guided"},
    {"guided,method=sample", "guided takes no key \"method\": it belongs to profile"},
    /* keys of fsdax */
    {"fsdax", "fsdax wants a size: write fsdax,size=200G"},
    {"fsdax,socket=all", "fsdax wants a size: write fsdax,size=200G"},
    {"spill,size=1G", "spill takes no key \"size\": it belongs to fsdax"},
    {"fsdax,fast=1G", "fsdax takes no key \"fast\": it belongs to isolate, migrate, guided"},
    {"fsdax,sizes=1G", "unknown key \"sizes\": fsdax takes socket, size or keep"},
    {"fsdax,keep", "fsdax wants a size: write fsdax,size=200G"},
    {"fsdax,size=1G,keep=", "keep takes no value: write fsdax,size=200G,keep"},
    {"fsdax,size=1G,keep=yes", "keep takes no value: write fsdax,size=200G,keep"},
    {"fsdax,size=1G,keep,keep", "keep is there twice: write it once"},
    {"fsdax,size=1G,Keep", "unknown key \"Keep\": fsdax takes socket, size or keep"},
    {"fsdax,size=1G,keeps", "unknown key \"keeps\": fsdax takes socket, size or keep"},
    {"fsdax,size", "size wants a value: write size=200G"},
    {"fsdax,size=1G,size=2G", "size is there twice: write it once"},
    {"fsdax,size=", SIZE "\"\""},
    {"fsdax,size=0", SIZE "\"0\""},
    {"fsdax,size=31M", SIZE "\"31M\""},
    {"fsdax,size=1025T", SIZE "\"1025T\""},
    {"fsdax,size=-1G", SIZE "\"-1G\""},
    {"fsdax,size=10%", SIZE "\"10%\""},
    {"fsdax,size=1G,socket=both", "socket wants local, remote or all, not \"both\""},
    {"migrate,socket=up", "socket wants local, remote or all, not \"up\""},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(refusals); i++) {
        struct hm_request request;
        struct hm_error error = {""};
        char wanted[HM_ERROR_TEXT];
        snprintf(wanted, sizeof(wanted), "--hybrid-mem=%s: %s", refusals[i].text, refusals[i].said);
        errno = 0;
        assert_int_equal(hm_request_parse(refusals[i].text, &request, &error), -1);
        assert_string_equal(error.text, wanted);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(hm_request_parse(refusals[i].text, &request, NULL), -1);
    }
}

static void test_errors_have_printable_characters_only(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        {"spill\tx", "\"spill\\tx\""},          {"spill\n", "\"spill\\n\""},
        {"a\033[2Jb", "\"a\\x1b[2Jb\""},        {"\x7f\x80\xff", "\"\\x7f\\x80\\xff\""},
        {"sp\xc3\xa4ll", "\"sp\\xc3\\xa4ll\""}, {"spill\r", "\"spill\\r\""},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_request request;
        struct hm_error error = {""};
        assert_int_equal(hm_request_parse(rows[i].text, &request, &error), -1);
        assert_non_null(strstr(error.text, rows[i].shown));
        for (const char *byte = error.text; *byte; byte++)
            assert_in_range(*byte, 0x20, 0x7e);
    }
}

/* An error about a long text is not cut off before the words that say what would be right. */
static void test_long_texts(void **state)
{
    char text[2000], key[200];
    struct hm_request request;
    struct hm_error error;
    (void)state;
    memset(text, '\1', sizeof(text));
    text[255] = '\0';
    assert_int_equal(hm_request_parse(text, &request, &error), -1);
    assert_non_null(strstr(error.text, MODES));
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(hm_request_parse(text, &request, &error), -1);
    assert_non_null(strstr(error.text, "1999 characters are too many: write at most 255"));
    memset(key, '\1', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    memcpy(key, "spill,socket=", 13);
    assert_int_equal(hm_request_parse(key, &request, &error), -1);
    assert_non_null(strstr(error.text, "socket wants local, remote or all, not \""));
    memset(text, '\0', sizeof(text));
    memcpy(text, "spill,socket=all", 16);
    memset(text + 16, ' ', 256 - 16);
    assert_int_equal(hm_request_parse(text, &request, &error), -1);
    assert_non_null(strstr(error.text, "256 characters"));
}

static void test_accepted(void **state)
{
    static const struct {
        const char *text;
        enum hm_mode mode;
        enum hm_socket socket;
        const char *name;
    } rows[] = {
        {"off", HM_MODE_OFF, HM_SOCKET_ALL, "off"},
        {"fast", HM_MODE_FAST, HM_SOCKET_ALL, "fast"},
        {"slow", HM_MODE_SLOW, HM_SOCKET_ALL, "slow"},
        {"interleave", HM_MODE_INTERLEAVE, HM_SOCKET_ALL, "interleave"},
        {"spill", HM_MODE_SPILL, HM_SOCKET_ALL, "spill"},
        {"spill,socket=all", HM_MODE_SPILL, HM_SOCKET_ALL, "spill"},
        {"spill,socket=local", HM_MODE_SPILL, HM_SOCKET_LOCAL, "spill"},
        {"slow,socket=remote", HM_MODE_SLOW, HM_SOCKET_REMOTE, "slow"},
        {"dram", HM_MODE_DRAM, HM_SOCKET_ALL, "dram"},
        {"pmem,socket=local", HM_MODE_PMEM, HM_SOCKET_LOCAL, "pmem"},
        {"cxl", HM_MODE_CXL, HM_SOCKET_ALL, "cxl"},
        {"hbm", HM_MODE_HBM, HM_SOCKET_ALL, "hbm"},
        {"isolate", HM_MODE_ISOLATE, HM_SOCKET_ALL, "isolate"},
        {"isolate,fast=1G,socket=local", HM_MODE_ISOLATE, HM_SOCKET_LOCAL, "isolate"},
        {"fsdax,size=1G", HM_MODE_FSDAX, HM_SOCKET_ALL, "fsdax"},
        {"fsdax,socket=local,size=32M", HM_MODE_FSDAX, HM_SOCKET_LOCAL, "fsdax"},
        {"fsdax,size=1G,keep", HM_MODE_FSDAX, HM_SOCKET_ALL, "fsdax"},
        {"fsdax,keep,socket=remote,size=1G", HM_MODE_FSDAX, HM_SOCKET_REMOTE, "fsdax"},
        {"migrate", HM_MODE_MIGRATE, HM_SOCKET_ALL, "migrate"},
        {"migrate,bins=16,socket=local", HM_MODE_MIGRATE, HM_SOCKET_LOCAL, "migrate"},
        {"guided,profile=/a/b.json,fast=25%,packer=hotset", HM_MODE_GUIDED, HM_SOCKET_ALL, "guided"},
        {"guided", HM_MODE_GUIDED, HM_SOCKET_ALL, "guided"},
        {"guided,migrate,source=damon,fast=1G", HM_MODE_GUIDED, HM_SOCKET_ALL, "guided"},
        {"guided,stale=ok", HM_MODE_GUIDED, HM_SOCKET_ALL, "guided"},
        {"guided,rate=1M,fallback=migrate", HM_MODE_GUIDED, HM_SOCKET_ALL, "guided"},
        {"profile", HM_MODE_PROFILE, HM_SOCKET_ALL, "profile"},
        {"profile,method=sample,overhead=0.5%,rate=1/128", HM_MODE_PROFILE, HM_SOCKET_ALL, "profile"},
        {"profile,plan=a,method=mbi", HM_MODE_PROFILE, HM_SOCKET_ALL, "profile"},
        {"guided,socket=local,profile=app.json", HM_MODE_GUIDED, HM_SOCKET_LOCAL, "guided"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_request request;
        memset(&request, 0x55, sizeof(request));
        assert_int_equal(hm_request_parse(rows[i].text, &request, NULL), 0);
        assert_int_equal(request.mode, rows[i].mode);
        assert_int_equal(request.socket, rows[i].socket);
        assert_string_equal(request.text, rows[i].text);
        assert_int_equal(request.keep, strstr(rows[i].text, "keep") != NULL);
        assert_string_equal(hm_request_mode_name(&request), rows[i].name);
        assert_int_equal(hm_request_wants(&request, HM_WANTS_MIGRATOR),
                         strstr(rows[i].text, "migrate") || strstr(rows[i].text, "isolate"));
    }
}

static void test_keys_of_profile(void **state)
{
    struct hm_request request;
    (void)state;
    assert_int_equal(hm_request_parse("profile,rate=1/128", &request, NULL), 0);
    assert_int_equal(request.profile.period, 128);
    assert_int_equal(request.migrate.rate_bytes, 0);
    assert_int_equal(hm_request_parse("profile,plan=a b,method=mbi", &request, NULL), 0);
    assert_int_equal(request.profile.method, HM_METHOD_MBI);
    assert_string_equal(request.profile.plan, "a b");
    assert_int_equal(hm_request_parse("profile,input=abcdefghijklmnopqrstuvwxyz_1234,rate=1/128", &request, NULL), 0);
    assert_string_equal(request.input, "abcdefghijklmnopqrstuvwxyz_1234");
    assert_int_equal(hm_request_parse("guided,online,input=2.B-x", &request, NULL), 0);
    assert_string_equal(request.input, "2.B-x");
}

static void test_modes_are_listed_and_explained(void **state)
{
    char all[HM_MODES_LIST], two[HM_MODES_LIST], tiny[5];
    (void)state;
    for (int i = 0; i < HM_MODES; i++) {
        const struct hm_mode_row *row = hm_mode_at(i);
        struct hm_request request = {.mode = (enum hm_mode)i};
        assert_true(strlen(row->name) > 0 && strlen(row->about) > 0);
        assert_int_equal(hm_mode_find(row->name, strlen(row->name)), i);
        assert_string_equal(hm_request_mode_name(&request), row->name);
        assert_int_equal(hm_request_wants(&request, HM_WANTS_ANYTHING), row->wants != 0);
        /* Every mode takes `socket`, except those that place nothing. */
        assert_int_equal(row->keys & HM_KEYS_SOCKET,
                         row->wants & ~(HM_WANTS_SIDE_CACHE | HM_WANTS_PROFILE) ? HM_KEYS_SOCKET : 0);
    }
    assert_null(hm_mode_at(HM_MODES));
    assert_null(hm_mode_at(-1));
    assert_int_equal(hm_mode_find("fastest", 4), HM_MODE_FAST);
    assert_int_equal(hm_mode_find("fastest", 5), -1);
    assert_int_equal(hm_mode_find("", 0), -1);
    assert_string_equal(hm_mode_want_name(HM_WANTS_PRELOAD), "preload");
    assert_null(hm_mode_want_name(HM_WANTS_PROFILE << 1));
    assert_string_equal(
        hm_modes_list(~0u, " or ", all, sizeof(all)),
        "off, fast, slow, dram, pmem, cxl, hbm, interleave, spill, isolate, migrate, profile, guided, fsdax or memory");
    assert_string_equal(hm_modes_list(1u << HM_MODE_SPILL | 1u << HM_MODE_OFF, " and ", two, sizeof(two)),
                        "off and spill");
    assert_string_equal(hm_modes_list(0, " or ", two, sizeof(two)), "");
    assert_string_equal(hm_modes_list(~0u, " or ", tiny, sizeof(tiny)), "off,");
}

/* A number that is no mode, as it may come from a file, asks for nothing. */
static void test_no_mode(void **state)
{
    struct hm_request request = {.mode = HM_MODES};
    (void)state;
    assert_string_equal(hm_request_mode_name(&request), "off");
    assert_false(hm_request_wants(&request, HM_WANTS_ANYTHING));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),        cmocka_unit_test(test_errors_have_printable_characters_only),
        cmocka_unit_test(test_long_texts),      cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_keys_of_profile), cmocka_unit_test(test_modes_are_listed_and_explained),
        cmocka_unit_test(test_no_mode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
