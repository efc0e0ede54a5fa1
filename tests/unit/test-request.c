/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "helpers/core/request.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define MODES "use off, fast, slow, dram, pmem, cxl, hbm, interleave or spill"
#define NO_FSDAX                                                                                                       \
    " is not available on this cluster: it belongs to the mode fsdax, and this version of hybridmem makes no DAX "     \
    "file systems"
#define NO_MIGRATE                                                                                                     \
    " is not available on this cluster: it belongs to the modes migrate and isolate, and this version of hybridmem "   \
    "has no page migrator"

struct refusal {
    const char *text, *said; /* after "--hybrid-mem=TEXT: " */
};

static const struct refusal refusals[] = {
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
    {"spill,sockets=all", "unknown key \"sockets\": use socket=local, socket=remote or socket=all"},
    {"spill,Socket=all", "unknown key \"Socket\": use socket=local, socket=remote or socket=all"},
    {"spill,=all", "unknown key \"\": use socket=local, socket=remote or socket=all"},
    {"fast,slow", "unknown key \"slow\": use socket=local, socket=remote or socket=all"},
    {"off,socket=all", "off takes no key, and here is \"socket\": write off alone"},
    {"isolate", "isolate is not available on this cluster: this version of hybridmem has no write isolation"},
    {"migrate", "migrate is not available on this cluster: this version of hybridmem has no page migrator"},
    {"fsdax,size=1G", "fsdax is not available on this cluster: this version of hybridmem makes no DAX file systems"},
    {"memory",
     "memory is not available on this cluster: this version of hybridmem does not switch nodes to Memory Mode"},
    {"spill,size=1G", "size" NO_FSDAX},
    {"spill,keep", "keep" NO_FSDAX},
    {"off,keep", "keep" NO_FSDAX},
    {"spill,fast=10%", "fast" NO_MIGRATE},
    {"spill,period=1", "period" NO_MIGRATE},
    {"spill,interval=1s", "interval" NO_MIGRATE},
    {"spill,bins=4", "bins" NO_MIGRATE},
    {"spill,algorithm=a", "algorithm" NO_MIGRATE},
    {"spill,source=ibs", "source" NO_MIGRATE},
    {"spill,overhead=1%", "overhead" NO_MIGRATE},
    {"spill,rate=1", "rate" NO_MIGRATE},
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
        assert_int_equal(errno, strstr(wanted, "not available") ? ENOTSUP : EINVAL);
        assert_int_equal(hm_request_parse(refusals[i].text, &request, NULL), -1);
    }
}

static void test_nothing_moves_the_cursor(void **state)
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

/* However long the text, what would be right is not cut off. */
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
        enum hm_kind kind;
        enum hm_socket socket;
        const char *name;
    } rows[] = {
        {"off", HM_MODE_OFF, HM_KIND_UNKNOWN, HM_SOCKET_ALL, "off"},
        {"fast", HM_MODE_FAST, HM_KIND_UNKNOWN, HM_SOCKET_ALL, "fast"},
        {"slow", HM_MODE_SLOW, HM_KIND_UNKNOWN, HM_SOCKET_ALL, "slow"},
        {"interleave", HM_MODE_INTERLEAVE, HM_KIND_UNKNOWN, HM_SOCKET_ALL, "interleave"},
        {"spill", HM_MODE_SPILL, HM_KIND_UNKNOWN, HM_SOCKET_ALL, "spill"},
        {"spill,socket=all", HM_MODE_SPILL, HM_KIND_UNKNOWN, HM_SOCKET_ALL, "spill"},
        {"spill,socket=local", HM_MODE_SPILL, HM_KIND_UNKNOWN, HM_SOCKET_LOCAL, "spill"},
        {"slow,socket=remote", HM_MODE_SLOW, HM_KIND_UNKNOWN, HM_SOCKET_REMOTE, "slow"},
        {"dram", HM_MODE_FAST, HM_KIND_DRAM, HM_SOCKET_ALL, "dram"},
        {"pmem,socket=local", HM_MODE_FAST, HM_KIND_PMEM, HM_SOCKET_LOCAL, "pmem"},
        {"cxl", HM_MODE_FAST, HM_KIND_CXL, HM_SOCKET_ALL, "cxl"},
        {"hbm", HM_MODE_FAST, HM_KIND_HBM, HM_SOCKET_ALL, "hbm"},
    };
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_request request;
        memset(&request, 0x55, sizeof(request));
        assert_int_equal(hm_request_parse(rows[i].text, &request, NULL), 0);
        assert_int_equal(request.mode, rows[i].mode);
        assert_int_equal(request.kind, rows[i].kind);
        assert_int_equal(request.socket, rows[i].socket);
        assert_string_equal(request.text, rows[i].text);
        assert_string_equal(hm_request_mode_name(&request), rows[i].name);
    }
}

static void test_modes_are_listed_and_explained(void **state)
{
    static const char *const wanted[] = {"off", "fast", "slow", "dram", "pmem", "cxl", "hbm", "interleave", "spill"};
    (void)state;
    for (size_t i = 0; i < N_ROWS(wanted); i++) {
        struct hm_request request;
        assert_string_equal(hm_request_mode_at((int)i), wanted[i]);
        assert_int_equal(hm_request_parse(wanted[i], &request, NULL), 0);
        assert_non_null(strstr(hm_request_help(), wanted[i]));
    }
    assert_null(hm_request_mode_at(N_ROWS(wanted)));
    assert_null(hm_request_mode_at(-1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nothing_moves_the_cursor),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_accepted),
        cmocka_unit_test(test_modes_are_listed_and_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
