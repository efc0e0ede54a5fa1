/* SPDX-License-Identifier: Apache-2.0 */
/* Tests valid texts of hybridmem.conf, what they allow, and how the file is read. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/tiers/tiers.h"
#include "parseconfig.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static void test_defaults(void **state)
{
    static const char *const empty[] = {"", "\n\n", "# nothing\n", "#", "  \t \n # ${HOME} \xff \\ \" '"};
    struct hm_config config, defaults;
    (void)state;
    hm_config_defaults(&defaults);
    assert_true(defaults.enabled);
    assert_int_equal(defaults.record, HM_RECORD_REQUESTED);
    assert_string_equal(defaults.record_dir, "/var/lib/hybridmem/records");
    assert_string_equal(defaults.run_dir, "/run/hybridmem");
    assert_int_equal(defaults.interval_ms, 1000);
    assert_float_equal(defaults.reserve_percent, 2, 0);
    assert_int_equal(defaults.reap_grace_s, 600);
    assert_false(defaults.fsdax_trust);
    assert_int_equal(defaults.fair_share, HM_FAIR_SHARE_EQUAL);
    assert_false(defaults.lend_samples);
    assert_string_equal(defaults.load, "");
    assert_string_equal(defaults.profile_dir, "");
    assert_int_equal(defaults.fsdax_wipe_limit_s, 0);
    assert_int_equal(defaults.ram, HM_SLOW_RAM_NONE);
    assert_false(defaults.resctrl);
    assert_string_equal(defaults.resctrl_dir, "/sys/fs/resctrl");
    assert_int_equal(defaults.meter_programs, HM_METER_NONE);
    assert_string_equal(defaults.spool_dir, "/var/lib/hybridmem/spool");
    assert_int_equal(defaults.summary_field, HM_SUMMARY_NONE);
    assert_int_equal(defaults.summary_rate, 120);
    assert_int_equal(defaults.collect_wait_s, 300);
    assert_string_equal(defaults.reboot_program, "");
    assert_float_equal(defaults.memmode_mixed_percent, 0, 0);
    assert_int_equal(defaults.memmode_least_s, 0);
    assert_int_equal(defaults.log_level, HM_LOG_INFO);
    assert_float_equal(defaults.keep_percent, 0, 0);
    assert_int_equal(defaults.keep_quota_bytes, 0);
    assert_int_equal(defaults.keep_age_s, 168 * 3600);
    assert_int_equal(defaults.default_modes, HM_MODES_ANY);
    assert_string_equal(defaults.migrate.text, "interval=10s,overhead=1%");
    assert_int_equal(hm_request_parse_keys(defaults.migrate.text, &config.migrate.keys, NULL), 0);
    assert_memory_equal(&config.migrate.keys, &defaults.migrate.keys, sizeof(defaults.migrate.keys));
    for (size_t i = 0; i < N_ROWS(empty); i++) {
        memset(&config, 0x55, sizeof(config));
        assert_int_equal(parse(empty[i], &config, NULL), 0);
        assert_memory_equal(&config, &defaults, sizeof(config));
    }
}

static const char full[] =
    "# a whole file\n"
    "enabled = no record = all\n"
    "record_dir = /srv/records  # of the site\n"
    "record_group = \"hpc\"\nstate_dir = '/srv/state'\nrun_dir = \"/run/hm\"\n"
    "cluster = c1\ninterval = 500ms\nreserve = 2.5%\nreap_grace = 10min\nlog_level = debug\nram = normal\n"
    "resctrl = yes\nresctrl_dir = /mnt/resctrl\nmeter_programs = slurm\n"
    "spool_dir = /srv/spool\nsummary_field = SystemComment\nsummary_rate = 6000\ncollect_wait = 2min\n"
    "reboot_program = /srv/reboot\nmemmode_mixed = 50% memmode_least = 1h\n"
    "fsdax_fs = xfs fsdax_map = pmem fsdax_wipe_limit = 45s\n"
    "fsdax_trust = yes fsdax_keep_share = 12.5%\nfsdax_keep_quota = 300G\nfsdax_keep_age = 72h\n"
    "fair_share = cores\nlend_samples = yes\nprofile_dir = /srv/profiles\nload = /srv/tiers.load\nmodes = { off, "
    "spill,\n fast, }\nmigrate "
    "= \"interval=2s,fast=10%\"\n"
    "tier \"ddr\" { nodes = \"0-1,4\" kind = dram read_latency = 80\n"
    "  read_bandwidth = 204000 write_bandwidth = 100000\n"
    "  static_power = 187.5W read_energy = 6.25pJ/bit write_energy = \"7pJ/bit\" }\n"
    "tier \"pmem\" { read_bandwidth = 78000 }\n"
    "channels \"ddr+pmem\" { kind = separate }\n"
    "redfish \"https://%h-bmc:8443\" { system = Self credentials = /srv/bmc ca = /srv/ca.pem\n"
    "  verify = no timeout = 5s }\n"
    "board \"max\" { manufacturer = \"Big Corp.\" model = \"X*\" attribute = Mode flat = Flat cache = \"Cache mode\" "
    "mixed = Hybrid }\n"
    "user \"alice\" { modes = slow }\n"
    "group \"chem-1\" { modes = { spill, interleave } }\n"
    "account \"a.b\" { modes = { dram } weight = 4 }\n"
    "qos \"high\" { weight = 1000 }\n"
    "partition \"main\" { default_mode = \"spill,socket=local\" }\n";

static void test_every_word(void **state)
{
    struct hm_config config;
    char text[32];
    (void)state;
    assert_int_equal(parse(full, &config, NULL), 0);
    assert_false(config.enabled);
    assert_int_equal(config.record, HM_RECORD_ALL);
    assert_string_equal(config.record_dir, "/srv/records");
    assert_string_equal(config.record_group, "hpc");
    assert_string_equal(config.state_dir, "/srv/state");
    assert_string_equal(config.run_dir, "/run/hm");
    assert_string_equal(config.cluster, "c1");
    assert_int_equal(config.interval_ms, 500);
    assert_float_equal(config.reserve_percent, 2.5, 0);
    assert_int_equal(config.reap_grace_s, 600);
    assert_int_equal(config.ram, HM_SLOW_RAM_NORMAL);
    assert_true(config.resctrl);
    assert_string_equal(config.resctrl_dir, "/mnt/resctrl");
    assert_int_equal(config.meter_programs, HM_METER_SLURM);
    assert_string_equal(hm_meter_programs_name(HM_METER_ALL), "all");
    assert_string_equal(config.spool_dir, "/srv/spool");
    assert_int_equal(config.summary_field, HM_SUMMARY_SYSTEM);
    assert_string_equal(hm_summary_name(config.summary_field), "SystemComment");
    assert_int_equal(config.summary_rate, 6000);
    assert_string_equal(config.reboot_program, "/srv/reboot");
    assert_float_equal(config.memmode_mixed_percent, 50, 0);
    assert_int_equal(config.memmode_least_s, 3600);
    assert_int_equal(config.collect_wait_s, 120);
    assert_int_equal(config.log_level, HM_LOG_DEBUG);
    assert_int_equal(config.fsdax_fs, HM_DAX_FS_XFS);
    assert_int_equal(config.fsdax_map, HM_DAX_MAP_PMEM);
    assert_int_equal(config.fsdax_wipe_limit_s, 45);
    assert_true(config.fsdax_trust);
    assert_float_equal(config.keep_percent, 12.5, 0);
    assert_int_equal(config.keep_quota_bytes, UINT64_C(300) << 30);
    assert_int_equal(config.keep_age_s, 72 * 3600);
    assert_int_equal(hm_config_keep_share(&config, 1280 << 20), 160 << 20);
    assert_int_equal(config.default_modes, 1u << HM_MODE_OFF | 1u << HM_MODE_FAST | 1u << HM_MODE_SPILL);
    assert_string_equal(config.migrate.text, "interval=2s,fast=10%");
    assert_int_equal(config.migrate.keys.interval_ms, 2000);
    assert_float_equal(config.migrate.keys.fast_percent, 10, 0);
    assert_string_equal(config.redfish.url, "https://%h-bmc:8443");
    assert_string_equal(config.redfish.system, "Self");
    assert_string_equal(config.redfish.credentials, "/srv/bmc");
    assert_string_equal(config.redfish.ca, "/srv/ca.pem");
    assert_false(config.redfish.verify);
    assert_int_equal(config.redfish.timeout_s, 5);
    assert_int_equal(config.n_boards, 1);
    assert_string_equal(config.board[0].manufacturer, "Big Corp.");
    assert_string_equal(config.board[0].model, "X*");
    assert_string_equal(config.board[0].attribute, "Mode");
    assert_string_equal(config.board[0].flat, "Flat");
    assert_string_equal(config.board[0].cache, "Cache mode");
    assert_string_equal(config.board[0].mixed, "Hybrid");
    assert_int_equal(config.n_tiers, 2);
    assert_string_equal(config.tier[0].name, "ddr");
    assert_true(config.tier[0].has_nodes);
    assert_string_equal(hm_set_format(&config.tier[0].nodes, text, sizeof(text)), "0-1,4");
    assert_int_equal(config.tier[0].kind, HM_KIND_DRAM);
    assert_int_equal(config.tier[0].read_latency_ns, 80);
    assert_int_equal(config.tier[0].read_bandwidth_mbs, 204000);
    assert_int_equal(config.tier[0].write_bandwidth_mbs, 100000);
    assert_float_equal(config.tier[0].energy.static_w, 187.5, 0);
    assert_float_equal(config.tier[0].energy.read_pj_bit, 6.25, 0);
    assert_float_equal(config.tier[0].energy.write_pj_bit, 7, 0);
    assert_float_equal(config.tier[1].energy.static_w, 0, 0);
    assert_false(config.tier[1].has_nodes);
    assert_int_equal(config.tier[1].kind, HM_KIND_UNKNOWN);
    assert_int_equal(config.n_channels, 1);
    assert_string_equal(config.channels[0].fast, "ddr");
    assert_string_equal(config.channels[0].slow, "pmem");
    assert_int_equal(config.channels[0].channels, HM_CHANNELS_SEPARATE);
    assert_int_equal(config.fair_share, HM_FAIR_SHARE_CORES);
    assert_true(config.lend_samples);
    assert_string_equal(config.load, "/srv/tiers.load");
    assert_string_equal(config.profile_dir, "/srv/profiles");
    assert_int_equal(config.n_rules, 5);
    assert_int_equal(config.rule[1].kind, HM_RULE_GROUP);
    assert_string_equal(config.rule[1].name, "chem-1");
    assert_int_equal(config.rule[1].modes, 1u << HM_MODE_SPILL | 1u << HM_MODE_INTERLEAVE);
    assert_int_equal(config.rule[2].weight, 4);
    assert_int_equal(config.rule[3].weight, 1000);
    assert_false(config.rule[4].has_modes);
    assert_string_equal(hm_config_default_mode(&config, "main"), "spill,socket=local");
    assert_null(hm_config_default_mode(&config, "other"));
    assert_null(hm_config_default_mode(&config, NULL));
}

static void test_weights(void **state)
{
    static const struct {
        const char *qos, *account, *partition;
        uint64_t weight;
    } rows[] = {
        {"high", "physics", "main", 9}, /* the QOS comes first, then the account */
        {"HIGH", NULL, NULL, 9},        /* Slurm stores these names in small letters */
        {"normal", "Physics", "main", 4},
        {NULL, "chemistry", "main", 2}, /* the section of this account gives no weight */
        {"", "", "main", 2},
        {NULL, NULL, "Main", 1}, /* Slurm tells these names apart */
        {NULL, NULL, NULL, 1},
    };
    struct hm_config config;
    (void)state;
    assert_int_equal(parse("account \"physics\" { weight = 4 modes = spill } account \"chemistry\" { modes = fast }\n"
                           "partition \"main\" { weight = 2 }",
                           &config, NULL),
                     0);
    assert_false(hm_config_has_qos(&config));
    assert_int_equal(hm_config_weight(&config, "high", "physics", "main"), 4);
    assert_int_equal(parse("qos \"high\" { weight = 9 } account \"physics\" { weight = 4 modes = spill }\n"
                           "account \"chemistry\" { modes = fast } partition \"main\" { weight = 2 }",
                           &config, NULL),
                     0);
    assert_true(hm_config_has_qos(&config));
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_config_weight(&config, rows[i].qos, rows[i].account, rows[i].partition) != rows[i].weight)
            fail_msg("row %zu", i);
}

static void test_environment_is_not_read(void **state)
{
    struct hm_config config;
    struct hm_error error = {""};
    (void)state;
    assert_int_equal(setenv("HM_TEST", "/evil", 1), 0);
    assert_int_equal(parse("record_dir = \"${HM_TEST}\"", &config, &error), -1);
    assert_null(strstr(error.text, "evil"));
    unsetenv("HM_TEST");
}

static const char rules[] = "modes = { spill, interleave }\n"
                            "user \"alice\" { modes = fast }\n"
                            "group \"chem\" { modes = { spill, slow } }\n"
                            "group \"phys\" { modes = { slow, fast } }\n"
                            "account \"small\" { modes = { spill, slow, interleave } }\n"
                            "partition \"main\" { modes = { fast, slow, spill } default_mode = spill }\n"
                            "partition \"free\" { default_mode = slow }\n";

static const struct {
    const char *mode, *user;
    const char *groups[3];
    const char *account, *partition;
    const char *rule, *use; /* the rule that refuses the mode, and the modes that it allows; NULL: none refuses */
} permissions[] = {
    {"slow", "bob", {NULL}, NULL, NULL, "everybody", "off, interleave or spill"},
    {"spill", "bob", {NULL}, NULL, NULL, NULL, NULL},
    {"off", "bob", {NULL}, NULL, NULL, NULL, NULL},
    {"spill", "alice", {"chem", NULL}, NULL, NULL, "user \"alice\"", "off or fast"},
    {"fast", "alice", {"chem", NULL}, NULL, NULL, NULL, NULL},
    {"off", "alice", {NULL}, NULL, NULL, NULL, NULL},
    {"fast", "bob", {"other", "chem", NULL}, NULL, NULL, "group \"chem\"", "off, slow or spill"},
    {"slow", "bob", {"other", "chem", NULL}, NULL, NULL, NULL, NULL},
    {"spill", "bob", {"chem", "phys", NULL}, NULL, NULL, "group \"phys\"", "off, fast or slow"},
    {"slow", "bob", {"chem", "phys", NULL}, NULL, NULL, NULL, NULL},
    {"fast", "alice", {NULL}, "small", NULL, "account \"small\"", "off, slow, interleave or spill"},
    {"fast", "alice", {NULL}, "other", "main", NULL, NULL},
    {"interleave", "bob", {NULL}, "small", "main", "partition \"main\"", "off, fast, slow or spill"},
    {"interleave", "bob", {NULL}, "small", "free", NULL, NULL},
    {"dram", "alice", {NULL}, NULL, NULL, "user \"alice\"", "off or fast"},
};

static void test_allows(void **state)
{
    struct hm_config config;
    (void)state;
    assert_int_equal(parse(rules, &config, NULL), 0);
    for (size_t i = 0; i < N_ROWS(permissions); i++) {
        struct hm_request request;
        struct hm_error error = {""};
        char wanted[HM_ERROR_TEXT];
        assert_int_equal(hm_request_parse(permissions[i].mode, &request, NULL), 0);
        int status = hm_config_allows(&config, &request, permissions[i].user, permissions[i].groups,
                                      permissions[i].account, permissions[i].partition, &error);
        assert_int_equal(status, permissions[i].rule ? -1 : 0);
        if (permissions[i].rule) {
            assert_int_equal(errno, EACCES);
            snprintf(wanted, sizeof(wanted),
                     "--hybrid-mem=%s: %s is not allowed by the rule for %s in hybridmem.conf: use %s",
                     permissions[i].mode, permissions[i].mode, permissions[i].rule, permissions[i].use);
            assert_string_equal(error.text, wanted);
        }
    }
}

static void test_channels(void **state)
{
    static const struct {
        enum hm_kind fast, slow;
        const char *name; /* of the slow tier; the fast one is "x" */
        enum hm_channels wanted;
    } rows[] = {
        {HM_KIND_DRAM, HM_KIND_PMEM, "y", HM_CHANNELS_SHARED},
        {HM_KIND_DRAM, HM_KIND_CXL, "y", HM_CHANNELS_SEPARATE},
        {HM_KIND_HBM, HM_KIND_DRAM, "y", HM_CHANNELS_SEPARATE},
        {HM_KIND_UNKNOWN, HM_KIND_UNKNOWN, "y", HM_CHANNELS_SHARED},
        {HM_KIND_UNKNOWN, HM_KIND_CXL, "big", HM_CHANNELS_SHARED},
        {HM_KIND_HBM, HM_KIND_PMEM, "y", HM_CHANNELS_SHARED},
        {HM_KIND_PMEM, HM_KIND_HBM, "y", HM_CHANNELS_SHARED},
    };
    struct hm_config config;
    (void)state;
    assert_int_equal(
        parse("channels \"big+x\" { kind = shared }\nchannels \"hbm+pmem\" { kind = shared }", &config, NULL), 0);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_tier fast = {.kind = rows[i].fast, .name = "x"}, slow = {.kind = rows[i].slow};
        snprintf(slow.name, sizeof(slow.name), "%s", rows[i].name);
        assert_int_equal(hm_tiers_channels(&config, &fast, &slow), rows[i].wanted);
    }
}

static void test_read(void **state)
{
    const char *path = scratch_path("hybridmem.conf");
    struct hm_config config;
    struct hm_error error = {""};
    char line[100];
    (void)state;
    assert_int_equal(hm_config_read("/etc/hybridmem-none/none.conf", false, &config, &error), 0);
    assert_true(config.enabled);
    assert_string_equal(error.text, "");
    assert_int_equal(hm_config_read("/etc/hybridmem-none/none.conf", true, &config, &error), -1);
    assert_int_equal(errno, ENOENT);
    scratch_write(path, "interval = 2s\nfoo");
    assert_int_equal(hm_config_read(path, true, &config, &error), -1);
    snprintf(line, sizeof(line), "%s:2: unknown word \"foo\"", path);
    assert_int_equal(strncmp(error.text, line, strlen(line)), 0);
    assert_int_equal(truncate(path, 13), 0); /* the first line, without its end */
    assert_int_equal(hm_config_read(path, true, &config, &error), 0);
    assert_int_equal(config.interval_ms, 2000);
    assert_int_equal(truncate(path, 65537), 0); /* a byte more than a file may have */
    assert_int_equal(hm_config_read(path, true, &config, &error), -1);
    assert_int_equal(errno, EFBIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_every_word),
        cmocka_unit_test(test_weights),  cmocka_unit_test(test_environment_is_not_read),
        cmocka_unit_test(test_allows),   cmocka_unit_test(test_channels),
        cmocka_unit_test(test_read),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
