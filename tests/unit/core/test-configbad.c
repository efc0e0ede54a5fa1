/* SPDX-License-Identifier: Apache-2.0 */
/* Tests wrong texts of hybridmem.conf: the exact error line of each. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "parseconfig.h"
#include "unit/lib/rows.h"

#define GRAMMAR ": write WORD = VALUE, WORD = { VALUE, VALUE } or SECTION \"TITLE\" { ... }"
#define TOP                                                                                                            \
    "use enabled, record, record_dir, record_group, state_dir, run_dir, cluster, interval, reserve, reap_grace, "      \
    "log_level, modes, migrate, fair_share, lend_samples, profile_dir, load, fsdax_fs, fsdax_map, fsdax_trust, "       \
    "fsdax_wipe_limit, fsdax_keep_share, "                                                                             \
    "fsdax_keep_quota, fsdax_keep_age, ram, resctrl, resctrl_dir, meter_programs, spool_dir, summary_field, "          \
    "summary_rate, "                                                                                                   \
    "collect_wait, memmode_mixed, memmode_least, reboot_program, tier, channels, redfish, board, user, group, "        \
    "account, partition or qos"
#define LONG_60 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff"

struct refusal {
    const char *text, *said; /* the error after "f:" */
};

static const struct refusal refusals[] = {
    /* words */
    {"enabld = yes", "1: unknown word \"enabld\": " TOP},
    {"\n\n  Enabled = yes", "3: unknown word \"Enabled\": " TOP},
    {"# one\n# two\nfoo = 1", "3: unknown word \"foo\": " TOP},
    {"nodes = 1", "1: unknown word \"nodes\": " TOP},
    {"include = x", "1: unknown word \"include\": " TOP},
    {"tier \"a\" { speed = 3 }", "1: unknown word \"speed\": use nodes, kind, read_latency, read_bandwidth, "
                                 "write_bandwidth, static_power, read_energy or write_energy"},
    {"user \"a\" {\n default_mode = spill }", "2: unknown word \"default_mode\": use modes"},
    {"partition \"a\" { mode = spill }", "1: unknown word \"mode\": use modes, weight or default_mode"},
    {"channels \"a+b\" { type = shared }", "1: unknown word \"type\": use kind"},
    /* grammar */
    {"enabled yes", "1: missing equal sign after option 'enabled'" GRAMMAR},
    {"enabled = ", "1: premature end of file" GRAMMAR},
    {"= yes", "1: unexpected token '='" GRAMMAR},
    {"enabled = { yes }", "1: unexpected token '{'" GRAMMAR},
    {"\ntier { }", "2: missing title for section 'tier'" GRAMMAR},
    {"tier \"a\" nodes = 1", "1: missing opening brace for section 'tier'" GRAMMAR},
    {"enabled = yes\n}", "2: unexpected closing brace" GRAMMAR},
    {"modes = { spill fast }", "1: unexpected token 'fast'" GRAMMAR},
    {"modes = { , spill }", "1: unexpected token ','" GRAMMAR},
    {"\nuser \"a\" {\n modes = spill\n", "2: the { of this line is not closed: end it with }"},
    {"user \"a\" { modes = { }\n}", "1: the list { } is empty: name at least one"},
    {"modes = {\n # nothing\n }", "3: the list { } is empty: name at least one"},
    {"user \"a\" { }", "1: user \"a\": the section says nothing: give modes"},
    {"channels \"a+b\" {\n}", "2: channels \"a+b\": the section says nothing: give kind"},
    /* the memory's mode */
    {"redfish \"http://bmc\" { credentials = /c }", "1: redfish \"http://bmc\": \"http://bmc\" is not the address of a "
                                                    "service: write https:// and a host, as in "
                                                    "\"https://%h-bmc.example.org\""},
    {"redfish \"https://root:calvin@bmc\" { credentials = /c }",
     "1: redfish \"https://root:calvin@bmc\": \"https://root:calvin@bmc\" is not the address of a service: write "
     "https:// "
     "and a host, as in \"https://%h-bmc.example.org\""},
    {"redfish \"https://a\" { credentials = /c }\nredfish \"https://b\" { credentials = /c }",
     "2: redfish \"https://b\": there is one already, for https://a: a node has one service"},
    {"redfish \"https://a\" { verify = no }",
     "1: redfish \"https://a\": it has to give credentials: a file with the user's name and the password"},
    {"board \"b\" { manufacturer = m attribute = a flat = f }",
     "1: board \"b\": it has to give manufacturer, attribute, flat and cache"},
    {"board \"b\" { manufacturer = m attribute = a flat = f cache = f }",
     "1: board \"b\": two of flat, cache and mixed are the same: give a value for each mode"},
    {"board \"b\" { manufacturer = m attribute = a flat = f cache = c mixed = c }",
     "1: board \"b\": two of flat, cache and mixed are the same: give a value for each mode"},
    {"memmode_mixed = 100%", "1: memmode_mixed: \"100%\" is out of range: use 0% to 99%"},
    {"board \"b\" { manufacturer = 'a\"b' }",
     "1: board \"b\": manufacturer: \"a\"b\" is not a text: use 1 to 63 characters, no double quotes"},
    /* bytes that libConfuse would treat in its own way */
    {"record_dir = \"${HOME}\"",
     "1: '$' has no place in a value: the environment is not read, and there are no escapes"},
    {"record_dir = '${HOME}'", "1: '$' has no place in a value: the environment is not read, and there are no escapes"},
    {"\nrecord_dir = ${HOME}",
     "2: '$' (0x24) has no place here: comments start with #, values that are not plain words stand in quotes"},
    {"record_dir = \"/a\\x41\"",
     "1: '\\' has no place in a value: the environment is not read, and there are no escapes"},
    {"record_dir = \"/a", "1: the string that starts with \"/a is not closed on its line"},
    {"record_dir = \"/a\nb\"", "1: the string that starts with \"/a\\nb\" is not closed on its line"},
    {"cluster = 'a", "1: the string that starts with 'a is not closed on its line"},
    {"// comment", "1: \"//\" has no place here: comments start with #"},
    {"/* comment */",
     "1: '*' (0x2a) has no place here: comments start with #, values that are not plain words stand in quotes"},
    {"include(\"/etc/passwd\")",
     "1: '(' (0x28) has no place here: comments start with #, values that are not plain words stand in quotes"},
    {"modes += spill",
     "1: '+' (0x2b) has no place here: comments start with #, values that are not plain words stand in quotes"},
    {"enabled = yes\r\n",
     "1: '?' (0x0d) has no place here: comments start with #, values that are not plain words stand in quotes"},
    {"cluster = \"caf\xc3\xa9\"", "1: the value has a byte 0xc3: write values in printable ASCII"},
    /* words that are there twice */
    {"enabled = yes\n\nenabled = no", "3: enabled: it is there twice: write it once"},
    {"modes = spill\nmodes = fast", "2: modes: it is there twice: write it once"},
    {"tier \"a\" { nodes = 0\n nodes = 1 }", "2: tier \"a\": nodes: it is there twice: write it once"},
    {"user \"a\" { modes = spill }\nuser \"a\" { modes = fast }",
     "2: a second section with the title \"a\": put both into one"},
    {"tier \"a\" { nodes = 0 }\ntier \"a\" { nodes = 1 }",
     "2: a second section with the title \"a\": put both into one"},
    {"tier \"a\" { nodes = 0-3 }\ntier \"b\" {\n nodes = 3-4 }",
     "3: tier \"b\": nodes: node 3 is in tier \"a\" too: a node is in one tier"},
    {"channels \"a+b\" { kind = shared }\nchannels \"b+a\" { kind = shared }",
     "2: channels \"b+a\": these channels are there already, as \"a+b\": keep one of them"},
    /* values */
    {"enabled = \"perhaps\"", "1: enabled: \"perhaps\" is not one of its values: use yes or no"},
    {"enabled = true", "1: enabled: \"true\" is not one of its values: use yes or no"},
    {"record = some", "1: record: \"some\" is not one of its values: use requested or all"},
    {"log_level = verbose", "1: log_level: \"verbose\" is not one of its values: use error, warning, info or debug"},
    {"record_dir = var/records", "1: record_dir: \"var/records\" is a relative path: write it from / on"},
    {"state_dir = \"\"", "1: state_dir: \"\" is a relative path: write it from / on"},
    {"run_dir = /run/../tmp", "1: run_dir: \"/run/../tmp\" goes through ..: write the path without it"},
    {"run_dir = /run/..", "1: run_dir: \"/run/..\" goes through ..: write the path without it"},
    {"record_group = \"a b\"", "1: record_group: \"a b\" is not a name: use 1 to 31 letters, digits, dots, - and _"},
    {"cluster = \"\"", "1: cluster: \"\" is not a name: use 1 to 63 letters, digits, dots, - and _"},
    {"interval = 1", "1: interval: \"1\" has no unit: write ms, s, min or h after it, as in 10s"},
    {"interval = 0s", "1: interval: \"0s\" is out of range: use 10 to 3600000 ms"},
    {"interval = 2h", "1: interval: \"2h\" is out of range: use 10 to 3600000 ms"},
    {"fsdax_wipe_limit = 25h", "1: fsdax_wipe_limit: \"25h\" is out of range: use 0 to 86400 whole seconds"},
    {"fsdax_keep_share = 10", "1: fsdax_keep_share: \"10\" is not a percentage: write a number and %, as in 2.5%"},
    {"fsdax_keep_share = 101%", "1: fsdax_keep_share: \"101%\" is more than 100%"},
    {"fsdax_keep_quota = 31M", "1: fsdax_keep_quota: \"31M\" is out of range: use 32.0 MiB to 1.0 PiB"},
    {"fsdax_keep_quota = 0", "1: fsdax_keep_quota: \"0\" is out of range: use 32.0 MiB to 1.0 PiB"},
    {"fsdax_keep_quota = lots",
     "1: fsdax_keep_quota: \"lots\" is not a size: write digits and K, M, G or T, as in 64G"},
    {"fsdax_keep_age = 59s", "1: fsdax_keep_age: \"59s\" is out of range: use 60 to 31622400 whole seconds"},
    {"fsdax_keep_age = 8785h", "1: fsdax_keep_age: \"8785h\" is out of range: use 60 to 31622400 whole seconds"},
    {"fsdax_keep_age = 7d", "1: fsdax_keep_age: \"7d\" is not a time: write digits and ms, s, min or h, as in 10s"},
    {"reap_grace = 1500ms", "1: reap_grace: \"1500ms\" is out of range: use 0 to 604800 whole seconds"},
    {"reserve = 2", "1: reserve: \"2\" is not a percentage: write a number and %, as in 2.5%"},
    {"resctrl = maybe", "1: resctrl: \"maybe\" is not one of its values: use yes or no"},
    {"resctrl_dir = resctrl", "1: resctrl_dir: \"resctrl\" is a relative path: write it from / on"},
    {"spool_dir = spool", "1: spool_dir: \"spool\" is a relative path: write it from / on"},
    {"meter_programs = yes", "1: meter_programs: \"yes\" is not one of its values: use none, papi, slurm or all"},
    {"summary_field = Comment",
     "1: summary_field: \"Comment\" is not one of its values: use none, AdminComment or SystemComment"},
    {"summary_field = Extra",
     "1: summary_field: \"Extra\" is not one of its values: use none, AdminComment or SystemComment"},
    {"summary_rate = 0", "1: summary_rate: \"0\" is not a number of 1 to 6000"},
    {"summary_rate = 6001", "1: summary_rate: \"6001\" is not a number of 1 to 6000"},
    {"memmode_least = 8785h", "1: memmode_least: \"8785h\" is out of range: use 0 to 31622400 whole seconds"},
    {"collect_wait = 25h", "1: collect_wait: \"25h\" is out of range: use 0 to 86400 whole seconds"},
    {"reserve = 51%", "1: reserve: \"51%\" is out of range: use 0% to 50%"},
    {"reserve = 200%", "1: reserve: \"200%\" is more than 100%"},
    {"modes = warp", "1: modes: --hybrid-mem=warp: unknown mode \"warp\": use off, fast, slow, dram, pmem, cxl, hbm, "
                     "interleave, spill, isolate, migrate, profile, guided, fsdax or memory"},
    {"modes = { spill,\n cache }",
     "2: modes: --hybrid-mem=cache: unknown mode \"cache\": use off, fast, slow, dram, pmem, "
     "cxl, hbm, interleave, spill, isolate, migrate, profile, guided, fsdax or memory"},
    {"migrate = \"interval=1s,bins=1\"",
     "1: migrate: interval=1s,bins=1: bins wants a number of 16 to 1048576, not \"1\""},
    {"migrate = \"\"", "1: migrate: it is empty: write KEY=VALUE or KEY=VALUE,KEY=VALUE"},
    {"modes = \"spill,socket=all\"",
     "1: modes: \"spill,socket=all\" is not a mode: write modes without keys, as in { spill, fast }"},
    {"fair_share = even", "1: fair_share: \"even\" is not one of its values: use equal, cores or none"},
    {"lend_samples = all", "1: lend_samples: \"all\" is not one of its values: use yes or no"},
    {"\nqos \"high\" { weight = 0 }", "2: qos \"high\": weight: \"0\" is not a number of 1 to 1000"},
    {"account \"a\" { weight = 1001 }", "1: account \"a\": weight: \"1001\" is not a number of 1 to 1000"},
    {"account \"a\" { weight = 1.5 }", "1: account \"a\": weight: \"1.5\" is not a number of 1 to 1000"},
    {"qos \"high\" { modes = spill }", "1: unknown word \"modes\": use weight"},
    {"user \"a\" { weight = 2 }", "1: unknown word \"weight\": use modes"},
    {"partition \"main\" { default_mode = \"spil\" }",
     "1: partition \"main\": default_mode: --hybrid-mem=spil: unknown mode \"spil\": use off, fast, slow, dram, pmem, "
     "cxl, hbm, interleave, spill, isolate, migrate, profile, guided, fsdax or memory"},
    {"partition \"main\" { default_mode = \"isolate,fast=25%\" }",
     "1: partition \"main\": default_mode: \"isolate,fast=25%\" cannot be a default: it changes programs, and some end "
     "because of it: use a mode that leaves programs as they are, such as spill or migrate"},
    {"tier \"dram\" { nodes = \"0-\" }",
     "1: tier \"dram\": nodes: \"0-\": \"0-\" is not a number or range of 0 to 8191; write a list like 0-3,8"},
    {"tier \"dram\" { nodes = \"\" }",
     "1: tier \"dram\": nodes: the list of nodes is empty: write NUMA node numbers, as in \"0-1\""},
    {"tier \"dram\" { kind = ram }",
     "1: tier \"dram\": kind: \"ram\" is not one of its values: use dram, pmem, cxl or hbm"},
    {"tier \"dram\" { read_latency = 0 }", "1: tier \"dram\": read_latency: \"0\" is not a number of 1 to 1000000"},
    {"tier \"dram\" { read_bandwidth = 10G }",
     "1: tier \"dram\": read_bandwidth: \"10G\" is not a number of 1 to 1000000000"},
    {"tier \"dram\" { write_bandwidth = -1 }",
     "1: tier \"dram\": write_bandwidth: \"-1\" is not a number of 1 to 1000000000"},
    {"tier \"dram\" { static_power = 12.5 }",
     "1: tier \"dram\": static_power: \"12.5\" is not a number of W: write the number and W, as in 2.5W"},
    {"tier \"dram\" { static_power = 0W }",
     "1: tier \"dram\": static_power: \"0W\" is out of range: use 0.001W to 1000000W"},
    {"tier \"dram\" { static_power = 1000000.1W }",
     "1: tier \"dram\": static_power: \"1000000.1W\" is out of range: use 0.001W to 1000000W"},
    {"tier \"dram\" { static_power = 1W static_power = 2W }",
     "1: tier \"dram\": static_power: it is there twice: write it once"},
    {"tier \"dram\" {\nread_energy = 3.2nJ }", "2: tier \"dram\": read_energy: \"3.2nJ\" is not a number of pJ/bit: "
                                               "write the number and pJ/bit, as in 2.5pJ/bit"},
    {"tier \"dram\" { write_energy = 0.0009pJ/bit }",
     "1: tier \"dram\": write_energy: \"0.0009pJ/bit\" is out of range: use 0.001pJ/bit to 1000000pJ/bit"},
    {"tier \"dram\" {\nread_energy = 6.25pJ/bit\n}",
     "3: tier \"dram\": read_energy without write_energy: give both, or none of them"},
    {"tier \"dram\" { kind = dram write_energy = 6.25pJ/bit }",
     "1: tier \"dram\": write_energy without read_energy: give both, or none of them"},
    {"channels \"fast+slow\" { kind = both }",
     "1: channels \"fast+slow\": kind: \"both\" is not one of its values: use shared or separate"},
    /* titles */
    {"tier \"DRAM\" { nodes = 0 }",
     "1: tier \"DRAM\": \"DRAM\" is not a tier's name: use 1 to 23 lower case letters, digits, - and _"},
    {"tier \"\" { nodes = 0 }",
     "1: tier \"\": \"\" is not a tier's name: use 1 to 23 lower case letters, digits, - and _"},
    {"channels \"dram\" { kind = shared }", "1: channels \"dram\": \"dram\" is not a pair of tiers: write two "
                                            "names or kinds of tiers, as in \"dram+cxl\""},
    {"channels \"a+a\" { kind = shared }", "1: channels \"a+a\": \"a+a\" is not a pair of tiers: write two names "
                                           "or kinds of tiers, as in \"dram+cxl\""},
    {"channels \"a+b+c\" { kind = shared }", "1: channels \"a+b+c\": \"a+b+c\" is not a pair of tiers: write two "
                                             "names or kinds of tiers, as in \"dram+cxl\""},
    {"user \"\" { modes = spill }", "1: user \"\": \"\" is not a name of 1 to 63 characters without spaces"},
    {"group \"a b\" { modes = spill }", "1: group \"a b\": \"a b\" is not a name of 1 to 63 characters without spaces"},
    {"account \"" LONG_60 "gggg\" { modes = spill }",
     "1: account \"" LONG_60 "\": \"" LONG_60 "gggg\" is not a name of 1 to 63 characters without spaces"},
};

static void test_refusals(void **state)
{
    struct hm_config *config = malloc(sizeof(*config)), *defaults = malloc(sizeof(*defaults));
    (void)state;
    assert_true(config && defaults);
    hm_config_defaults(defaults);
    for (size_t i = 0; i < N_ROWS(refusals); i++) {
        struct hm_error error = {""};
        char wanted[HM_ERROR_TEXT];
        snprintf(wanted, sizeof(wanted), "f:%s", refusals[i].said);
        errno = 0;
        assert_int_equal(parse(refusals[i].text, config, &error), -1);
        assert_string_equal(error.text, wanted);
        assert_int_equal(errno, EINVAL);
        assert_int_equal(parse(refusals[i].text, config, NULL), -1);
        assert_memory_equal(config, defaults, sizeof(*config));
        /* libConfuse's scanner is global: an error must not affect the next file. */
        assert_int_equal(parse("record = all\n", config, &error), 0);
        assert_int_equal(config->record, HM_RECORD_ALL);
    }
    free(config);
    free(defaults);
}

static void test_zero_byte(void **state)
{
    struct hm_error error = {""};
    struct hm_config config;
    (void)state;
    assert_int_equal(parse_bytes("enabled\0= no", 12, &config, &error), -1);
    assert_string_equal(
        error.text,
        "f:1: '?' (0x00) has no place here: comments start with #, values that are not plain words stand in quotes");
}

static void test_too_many(void **state)
{
    static const struct {
        const char *before, *after, *said;
    } rows[] = {
        {"tier \"t", "\" { kind = dram }", "f:9: tier \"t8\": there are too many tiers: 8 are allowed"},
        {"channels \"a+t", "\" { kind = shared }",
         "f:9: channels \"a+t8\": there are too many channels: 8 are allowed"},
        {"user \"u", "\" { modes = spill }",
         "f:65: user \"u64\": there are too many user, group, account, partition and qos sections: 64 are allowed"},
    };
    struct hm_config config;
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[4096];
        size_t used = 0;
        struct hm_error error = {""};
        for (int n = 0; n < 65; n++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d%s\n", rows[i].before, n, rows[i].after);
        assert_int_equal(parse(text, &config, &error), -1);
        assert_string_equal(error.text, rows[i].said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_zero_byte),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
