/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the table of the uncore's PMUs on fake ones: which events are counted on which processor, and how many bytes a
 * count is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/tiers/tiers.h"
#include "fakesysfs.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

/* Find the counters of the same machine with another processor. */
static void find_anew(const char *modalias)
{
    fake_sysfs_write("devices/system/cpu/modalias", modalias);
    fake.n_opened = 0;
    hm_gauges_close(&fake.gauges, 0);
    fake_sysfs_find();
}

static void test_traffic_of_memory_controllers(void **state)
{
    (void)state;
    fake_sysfs_add_memory_controllers();
    fake_sysfs_add_event("uncore_imc_free_running_0", "30", "read", "event=0xff,umask=0x20");
    fake_sysfs_add_event("uncore_imc_free_running_0", "30", "ddrt_write", "event=0xff,umask=0x31");
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("perf-imc")->n, 10);
    assert_int_equal(fake.attr[0].config, 0x0304);
    fake_sysfs_step();
    /* the free-running counter counts the same, and is not added */
    fake_sysfs_expect("dram read", "perf-imc", 4 * 1000 * 64);
    fake_sysfs_expect("dram write", "perf-imc", 4 * 1000 * 64);
    fake_sysfs_expect("pmem write", "perf-imc", 2 * 1000 * 64);
}

/* Channels of some processors (those with 16 counters) have two subchannels. The cas_count_read that older kernels
 * describe there counts one of them only, so it is not used. */
static void test_both_subchannels_are_counted(void **state)
{
    static const struct {
        const char *modalias;
        size_t n; /* number of counters */
    } rows[] = {
        {"cpu:type:x86,ven0000fam0006mod00AD:feature:,0000,020B", 16},
        {"cpu:type:x86,ven0000fam0006mod00AE:feature:,0000,020B", 16},
        {"cpu:type:x86,ven0000fam0006mod00AF:feature:,0000,020B", 16},
        {"cpu:type:x86,ven0000fam0006mod00B6:feature:,0000,020B", 16},
        {"cpu:type:x86,ven0000fam0006mod00DD:feature:,0000,020B", 16},
        {"cpu:type:x86,ven0000fam0006mod00CF:feature:,0000,020B", 8},
        {"cpu:type:x86,ven0002fam0006mod00AD:feature:,0000,020B", 8},
    };
    (void)state;
    fake_sysfs_add_memory_controllers();
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        find_anew(rows[i].modalias);
        assert_int_equal(fake_sysfs_source("perf-imc")->n, rows[i].n);
        for (int event = 0; event < 4 && rows[i].n == 16; event++) {
            static const uint64_t configs[] = {0xcf05, 0xcf06, 0xf005, 0xf006};
            assert_int_equal(fake.attr[event * 4].config, configs[event]);
        }
        fake_sysfs_step();
        fake_sysfs_expect("dram read", "perf-imc", (double)(rows[i].n / 2 * 1000 * 64));
        fake_sysfs_expect("dram write", "perf-imc", (double)(rows[i].n / 2 * 1000 * 64));
    }
}

static void test_persistent_memory_by_processor(void **state)
{
    static const struct {
        const char *modalias;
        size_t n; /* number of counters; 16 with those of persistent memory */
    } rows[] = {
        {"cpu:type:x86,ven0000fam0006mod0055:feature:,0000,0001,0209,020B,020E", 16},
        {"cpu:type:x86,ven0000fam0006mod0055:feature:,0000,0001,0209,020E", 8}, /* Skylake */
        {"cpu:type:x86,ven0000fam0006mod006A:feature:,0000,020B,020E", 16},     /* Ice Lake */
        {"cpu:type:x86,ven0000fam0006mod006C:feature:,0000,020B,020E", 8},
        {"cpu:type:x86,ven0000fam0006mod008F:feature:,0000,020B,020E", 16}, /* Sapphire Rapids */
        {"cpu:type:x86,ven0000fam0006mod00CF:feature:,0000,020B,020E", 8},  /* Emerald Rapids takes no Optane */
        {"cpu:type:x86,ven0000fam0006mod008:feature:,0000,020B,020E", 8},
        {"cpu:type:x86,ven0002fam0006mod008F:feature:,0000,020B,020E", 8},
        {"cpu:type:x86,ven0002fam0019mod0055:feature:,0000,020B,020E", 8},
    };
    (void)state;
    fake_sysfs_add_memory_controllers();
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        find_anew(rows[i].modalias);
        assert_int_equal(fake_sysfs_source("perf-imc")->n, rows[i].n);
        if (rows[i].n == 16)
            assert_true(fake.attr[8].config == 0xe3 && fake.attr[12].config == 0xe7);
        fake_sysfs_step();
        if (rows[i].n == 16) {
            fake_sysfs_expect("pmem read", "perf-imc", 4 * 1000 * 64);
            fake_sysfs_expect("pmem write", "perf-imc", 4 * 1000 * 64);
        }
        fake_sysfs_expect("dram read", "perf-imc", 4 * 1000 * 64);
    }
}

/* Events of persistent memory need hardware counters. So where the tiers are known, these events are only opened if a
 * tier is persistent memory. */
static void test_persistent_memory_that_no_tier_has(void **state)
{
    struct hm_tiers tiers = {.n_tiers = 2, .tier = {{.kind = HM_KIND_DRAM}, {.kind = HM_KIND_CXL}}};
    (void)state;
    fake_sysfs_add_memory_controllers();
    fake_sysfs_write("devices/system/cpu/modalias", "cpu:type:x86,ven0000fam0006mod008F:feature:,0000,020B,020E");
    fake.setup.later = &tiers;
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("perf-imc")->n, 8);
    hm_gauges_close(&fake.gauges, 0);
    tiers.tier[1].kind = HM_KIND_PMEM;
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("perf-imc")->n, 16);
}

/* The free-running counters of persistent memory count the same as its events. */
static void test_persistent_memory_is_not_counted_twice(void **state)
{
    (void)state;
    fake_sysfs_add_memory_controllers();
    fake_sysfs_add_event("uncore_imc_free_running_0", "30", "ddrt_read", "event=0xff,umask=0x30");
    fake_sysfs_add_event("uncore_imc_free_running_0", "30", "ddrt_write", "event=0xff,umask=0x31");
    fake_sysfs_write("devices/system/cpu/modalias", "cpu:type:x86,ven0000fam0006mod006A:feature:,0000,020B");
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("perf-imc")->n, 12);
    fake_sysfs_step();
    fake_sysfs_expect("pmem read", "perf-imc", 2 * 1000 * 64);
    fake_sysfs_expect("pmem write", "perf-imc", 2 * 1000 * 64);
}

/* Adds two PMUs of HBM. The kernel describes none of their events that count traffic. */
static void add_hbm(const char *modalias)
{
    fake_sysfs_add_event("uncore_hbm_0", "50", "clockticks", "event=0x01");
    fake_sysfs_add_event("uncore_hbm_31", "51", "clockticks", "event=0x01");
    fake_sysfs_write("devices/system/cpu/modalias", modalias);
    fake.counts[1] = 1000;
    fake.n_counts = 2;
}

static void test_hbm_of_sapphire_rapids(void **state)
{
    (void)state;
    add_hbm("cpu:type:x86,ven0000fam0006mod008F:feature:,0000,020B");
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("perf-imc")->n, 8); /* two controllers, two sockets, reads and writes */
    for (int i = 0; i < 8; i++) {
        assert_int_equal(fake.attr[i].config, i < 4 ? 0xcf05 : 0xf005);
        assert_int_equal(fake.attr[i].type, i % 4 < 2 ? 50 : 51);
        assert_int_equal(fake.cpu[i], i % 2);
    }
    fake_sysfs_step();
    fake_sysfs_expect("hbm read", "perf-imc", 4 * 1000 * 32);
    fake_sysfs_expect("hbm write", "perf-imc", 4 * 1000 * 32);
    hm_gauges_close(&fake.gauges, 0);
    fake_sysfs_add_memory_controllers(); /* the counters of DRAM are not those of HBM */
    fake_sysfs_find();
    fake_sysfs_step();
    fake_sysfs_expect("hbm read", "perf-imc", 4 * 1000 * 32);
    fake_sysfs_expect("dram read", "perf-imc", 4 * 1000 * 64);
}

static void test_hbm_of_another_processor(void **state)
{
    (void)state;
    add_hbm("cpu:type:x86,ven0000fam0006mod00CF:feature:,0000,020B");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    assert_non_null(strstr(fake_sysfs_source("perf-imc")->reason, "no event described: the kernel has uncore_imc"));
}

static void test_cxl_and_amd(void **state)
{
    (void)state;
    fake_sysfs_add_event("cxl_pmu_mem0.0", "40", "m2s_req_memrd", "event=0x20");
    fake_sysfs_add_event("amd_umc_0", "41", "clockticks", "event=0x00");
    fake.counts[1] = 10;
    fake.n_counts = 2;
    fake_sysfs_find();
    fake_sysfs_step();
    fake_sysfs_expect("cxl read", "cxl", 2 * 10 * 64);
    assert_non_null(strstr(fake_sysfs_source("perf-amd")->reason, "no event described"));
}

static void test_memory_controllers_of_amd(void **state)
{
    static const struct {
        const char *modalias;
        size_t n; /* number of counters */
    } rows[] = {
        {"cpu:type:x86,ven0002fam0019mod0011:feature:,0000,020B", 8}, /* Genoa */
        {"cpu:type:x86,ven0002fam0019mod00A0:feature:,0000,020B", 8}, /* Bergamo */
        {"cpu:type:x86,ven0002fam001Amod0002:feature:,0000,020B", 8}, /* Turin */
        {"cpu:type:x86,ven0002fam001Amod0011:feature:,0000,020B", 8},
        {"cpu:type:x86,ven0002fam0019mod0090:feature:,0000,020B", 0}, /* MI300A */
        {"cpu:type:x86,ven0002fam0019mod0061:feature:,0000,020B", 0},
        {"cpu:type:x86,ven0002fam001Amod0024:feature:,0000,020B", 0},
        {"cpu:type:x86,ven0000fam0019mod0011:feature:,0000,020B", 0},
    };
    (void)state;
    fake_sysfs_add_event("amd_umc_0", "41", "clockticks", "event=0x00");
    fake_sysfs_add_event("amd_umc_12", "42", "clockticks", "event=0x00");
    fake_sysfs_add_event("amd_df", "43", "clockticks", "event=0x00");
    fake_sysfs_write("bus/event_source/devices/amd_umc_0/format/rdwrmask", "config:8-9");
    fake_sysfs_write("bus/event_source/devices/amd_umc_12/format/rdwrmask", "config:8-9");
    fake.counts[1] = 1000;
    fake.n_counts = 2;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        find_anew(rows[i].modalias);
        assert_int_equal(fake_sysfs_source("perf-amd")->n, rows[i].n);
        if (rows[i].n == 0) {
            assert_non_null(
                strstr(fake_sysfs_source("perf-amd")->reason, "no event described: the kernel has amd_umc"));
            continue;
        }
        assert_true(fake.attr[0].config == 0x10a && fake.attr[4].config == 0x20a);
        fake_sysfs_step();
        fake_sysfs_expect("dram read", "perf-amd", 4 * 1000 * 64);
        fake_sysfs_expect("dram write", "perf-amd", 4 * 1000 * 64);
    }
}

static void test_the_data_fabric_of_amd_is_no_source(void **state)
{
    (void)state;
    fake_sysfs_add_event("amd_df", "43", "clockticks", "event=0x00");
    fake_sysfs_write("devices/system/cpu/modalias", "cpu:type:x86,ven0002fam0019mod0001:feature:,0000");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    assert_non_null(strstr(fake_sysfs_source("perf-amd")->reason, "amd_df has four counters for eight channels"));
    fake_sysfs_step();
    fake_sysfs_expect_unknown("memory read", "perf-amd: the kernel has no PMU amd_umc, as Zen 4 and later have");
}

/* Two sockets, each with its own PMU. */
static void test_cpu_memory_of_grace(void **state)
{
    static const struct {
        const char *event, *terms;
    } events[] = {{"cmem_rd_data", "event=0x1a5"},          {"cmem_wr_total_bytes", "event=0x1db"},
                  {"remote_socket_rd_data", "event=0x1a2"}, {"remote_socket_wr_total_bytes", "event=0x1a1"},
                  {"gmem_rd_data", "event=0x16d"},          {"gmem_wr_total_bytes", "event=0x1a0"}};
    (void)state;
    for (int socket = 0; socket < 2; socket++) {
        const char *pmu = socket ? "nvidia_scf_pmu_1" : "nvidia_scf_pmu_0";
        for (size_t i = 0; i < N_ROWS(events); i++)
            fake_sysfs_add_event(pmu, socket ? "61" : "60", events[i].event, events[i].terms);
    }
    for (int socket = 0; socket < 2; socket++) {
        const char *folder = "bus/event_source/devices/nvidia_scf_pmu_";
        char path[96];
        snprintf(path, sizeof(path), "%s%d/format/event", folder, socket);
        fake_sysfs_write(path, "config:0-32");
        snprintf(path, sizeof(path), "%s%d/cpumask", folder, socket);
        fake_sysfs_write(path, socket ? "1" : "0");
    }
    fake.counts[1] = 1000;
    fake.n_counts = 2;
    fake_sysfs_find();
    assert_int_equal(fake_sysfs_source("grace-cpus")->n, 4);
    assert_true(fake.attr[0].config == 0x1a5 && fake.attr[2].config == 0x1db);
    assert_true(fake.cpu[0] == 0 && fake.cpu[1] == 1);
    fake_sysfs_step();
    fake_sysfs_expect("dram read", "grace-cpus", 2 * 1000 * 32);
    fake_sysfs_expect("dram write", "grace-cpus", 2 * 1000);
}

/* As on Grace's successor, where the kernel describes no events that count traffic. */
static void test_a_fabric_without_events(void **state)
{
    (void)state;
    fake_sysfs_add_event("nvidia_scf_pmu_0", "60", "cycles", "event=0x0");
    fake_sysfs_find();
    assert_int_equal(fake.gauges.n, 0);
    assert_non_null(
        strstr(fake_sysfs_source("grace-cpus")->reason, "no event described: the kernel has nvidia_scf_pmu"));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_sysfs_make, fake_sysfs_drop)
    const struct CMUnitTest tests[] = {
        TEST(test_traffic_of_memory_controllers),
        TEST(test_both_subchannels_are_counted),
        TEST(test_persistent_memory_by_processor),
        TEST(test_persistent_memory_that_no_tier_has),
        TEST(test_persistent_memory_is_not_counted_twice),
        TEST(test_hbm_of_sapphire_rapids),
        TEST(test_hbm_of_another_processor),
        TEST(test_cxl_and_amd),
        TEST(test_memory_controllers_of_amd),
        TEST(test_the_data_fabric_of_amd_is_no_source),
        TEST(test_cpu_memory_of_grace),
        TEST(test_a_fabric_without_events),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
