/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a cgroup's memory is read by tier, and the guard, which tells when the job is over. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "meter/memory/cgroup.h"
#include "meter/memory/guard.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_node_map map; /* nodes 0 and 1 are tier 0, node 2 is tier 1 */

static int set_up(void **state)
{
    struct hm_set nodes[2] = {{{0}}, {{0}}};
    hm_set_add(&nodes[0], 0);
    hm_set_add(&nodes[0], 1);
    hm_set_add(&nodes[1], 2);
    hm_set_add(&nodes[1], HM_CGROUP_NODES); /* a higher number than any kernel has: ignored */
    hm_node_map_fill(&map, nodes, 2);
    return scratch_make(state);
}

static void test_numastat_refuses(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",
        "\n",
        "anon N0=1\n",          /* no file */
        "file N0=1\n",          /* no anon */
        "anon N0=1\nfile N0=1", /* cut */
        "anon N0=1\nfile N0=\n",
        "anon N0=1\nfile N0\n",
        "anon N0=1\nfile N=1\n",
        "anon N0=1\nfile 0=1\n",
        "anon N0=1\nfile N0=-1\n",
        "anon N0=1\nfile N0=1x\n",
        "anon N0=1\nfile N0=1 \n",
        "anon N0=1\nfile  N0=1\n",
        "anon N0=1\nfile N0=1\tN1=1\n",
        "anon N0=18446744073709551616\nfile N0=1\n", /* 2^64 */
        "anon N18446744073709551616=1\nfile N0=1\n",
        "anon N0=18446744073709551615 N1=1\nfile N0=1\n", /* the sum of the tier overflows */
        "anon N0=1\nfile N0=1\nslab_reclaimable N0=18446744073709551615\nslab_unreclaimable N0=1\n",
        "anonN0=1\nfile N0=1\n",
        " anon N0=1\nfile N0=1\n",
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_usage usage[HM_MAX_TIERS] = {{.anon = 77}};
        bool outside = false;
        errno = 0;
        if (hm_numastat_parse(rows[i], strlen(rows[i]), &map, usage, &outside) != -1)
            fail_msg("row %zu was taken", i);
        assert_int_equal(errno, EBADMSG);
        assert_int_equal(usage[0].anon, 77); /* unchanged */
    }
}

static void test_numastat(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct hm_usage fast, slow;
        bool outside;
    } rows[] = {
        {"anon N0=1 N1=2 N2=4\nfile N0=10 N1=20 N2=40\nkernel_stack N0=100 N1=0 N2=0\npagetables N0=200 N1=0 N2=7\n"
         "sec_pagetables N0=10000 N1=0 N2=0\nshmem N0=3 N1=4 N2=5\nfile_mapped N0=9999 N1=9999 N2=9999\n"
         "anon_thp N0=9999 N1=0 N2=0\nslab_reclaimable N0=1000 N1=0 N2=0\nslab_unreclaimable N0=2000 N1=0 N2=0\n"
         "workingset_refault_anon N0=5 N1=5 N2=5\n",
         {.anon = 3, .file = 23, .shmem = 7, .kernel = 13300},
         {.anon = 4, .file = 35, .shmem = 5, .kernel = 7},
         false},
        {"anon\nfile\n", {0}, {0}, false},
        {"file N2=5\nanon N0=9\n", {.anon = 9}, {.file = 5}, false},
        {"anon N0=1\nfile N0=5\nshmem N0=6\n", {.anon = 1, .shmem = 6}, {0}, false}, /* shmem may exceed file */
        {"anon N0=1 N3=0\nfile N0=0\n", {.anon = 1}, {0}, false},
        {"anon N0=1 N3=4096\nfile N0=0\n", {.anon = 1}, {0}, true},
        {"anon N0=1 N4294967296=4096\nfile N0=0\n", {.anon = 1}, {0}, true},
        {"anon N0=1\nfile N0=0\nfuture words of any sort\n\n=\n", {.anon = 1}, {0}, false},
        {"anon N0=18446744073709551615\nfile N0=0\n", {.anon = UINT64_MAX}, {0}, false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_usage usage[HM_MAX_TIERS];
        bool outside = false;
        memset(usage, 0xff, sizeof(usage));
        assert_int_equal(hm_numastat_parse(rows[i].text, strlen(rows[i].text), &map, usage, &outside), 0);
        assert_memory_equal(&usage[0], &rows[i].fast, sizeof(usage[0]));
        assert_memory_equal(&usage[1], &rows[i].slow, sizeof(usage[1]));
        assert_int_equal(outside, rows[i].outside);
    }
}

static void test_hugetlb(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int result;
        uint64_t fast, slow;
    } rows[] = {
        {"total=0\n", 0, 5, 0},
        {"total=6291456 N0=2097152 N1=0 N2=4194304\n", 0, 2097157, 4194304},
        {"", -1, 5, 0},
        {"\n", -1, 5, 0},
        {"total=\n", -1, 5, 0},
        {"total=1", -1, 5, 0},
        {"total=1 N0=1\ntotal=1\n", -1, 5, 0},
        {"total=1 N0=1 N2\n", -1, 5, 0},
        {"totals=1 N0=1\n", -1, 5, 0},
        {"total=1 N0=18446744073709551615\n", -1, 5, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_usage usage[HM_MAX_TIERS] = {{.hugetlb = 5}}; /* of another page size; the result is added to it */
        bool outside = false;
        if (hm_hugetlb_parse(rows[i].text, strlen(rows[i].text), &map, usage, &outside) != rows[i].result)
            fail_msg("row %zu", i);
        assert_true(usage[0].hugetlb == rows[i].fast && usage[1].hugetlb == rows[i].slow);
    }
}

static void test_guard_text(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int populated;
    } rows[] = {
        {"", -1},
        {"frozen 0\n", -1},
        {"populated 2\n", -1},
        {"populated 10\n", -1},
        {"populated\n", -1},
        {"unpopulated 1\n", -1},
        {"populated 1\nfrozen 0\n", 1},
        {"frozen 0\npopulated 0\n", 0},
        {"populated 0", 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++)
        if (hm_guard_parse(rows[i].text) != rows[i].populated)
            fail_msg("row %zu", i);
}

static void put(const char *name, const char *text)
{
    scratch_write(scratch_path("%s", name), text);
}

static void drop(const char *name)
{
    assert_int_equal(unlink(scratch_path("%s", name)), 0);
}

static void test_guard_file(void **state)
{
    (void)state;
    struct hm_guard guard;
    char path[64];
    const uint64_t start = 1000, late = start + HM_GUARD_GRACE_NS;
    snprintf(path, sizeof(path), "%s/events", scratch);
    hm_guard_init(&guard, path, start);
    assert_false(hm_guard_is_over(&guard, late - 1)); /* the file does not exist yet */
    assert_true(hm_guard_is_over(&guard, late));
    put("events", "populated 0\n");
    assert_false(hm_guard_is_over(&guard, late - 1)); /* it has no process yet */
    assert_true(hm_guard_is_over(&guard, late));
    put("events", "populated 1\n");
    assert_false(hm_guard_is_over(&guard, late));
    put("events", "populated 0\n");
    assert_true(hm_guard_is_over(&guard, start)); /* it has had processes */
    put("events", "populated 1\n");
    assert_false(hm_guard_is_over(&guard, start));
    drop("events");
    assert_true(hm_guard_is_over(&guard, start));
    close(guard.fd);
}

/*
 * Files appear, and later have wrong content, between readings of the cgroup. A reading shows what is unknown then, and
 * keeps the other figures.
 */
static void test_cgroup_files(void **state)
{
    (void)state;
    struct hm_cgroup cgroup;
    struct hm_reading reading;
    assert_int_equal(hm_cgroup_open(&cgroup, "/nonexistent"), -1);
    assert_int_equal(hm_cgroup_open(&cgroup, scratch), 0);
    assert_int_equal(hm_cgroup_read(&cgroup, &map, &reading), 0);
    assert_false(reading.has_usage);
    assert_int_equal(reading.peak_source, HM_PEAK_NONE);
    assert_non_null(strstr(reading.missing, "memory.numa_stat"));
    assert_non_null(strstr(reading.missing, "controller"));
    put("memory.current", "8192\n");
    put("hugetlb.2MB.numa_stat", "total=2097152 N0=0 N1=0 N2=2097152\n");
    put("hugetlb.1GB.numa_stat", "total=0 N0=0 N1=0 N2=0\n");
    put("hugetlb.2MB.max", "max\n");
    put("memory.numa_stat", "anon N0=4096 N1=0 N2=0\nfile N0=0 N1=0 N2=4096\n");
    assert_int_equal(hm_cgroup_read(&cgroup, &map, &reading), 0);
    assert_true(reading.has_usage && reading.has_hugetlb);
    assert_string_equal(reading.missing, "");
    assert_int_equal(reading.peak_source, HM_PEAK_SAMPLED);
    assert_int_equal(reading.peak, 8192);
    assert_int_equal(cgroup.n_hugetlb, 2);
    assert_int_equal(reading.usage[0].anon, 4096);
    assert_int_equal(hm_usage_total(&reading.usage[1]), 4096 + 2097152);
    put("memory.peak", "16384\n");
    put("hugetlb.1GB.numa_stat", "nonsense\n");
    assert_int_equal(hm_cgroup_read(&cgroup, &map, &reading), 0);
    assert_int_equal(reading.peak_source, HM_PEAK_KERNEL);
    assert_int_equal(reading.peak, 16384);
    assert_false(reading.has_hugetlb);
    assert_non_null(strstr(reading.missing, "hugetlb"));
    put("memory.numa_stat", "anon N0=x\n");
    static const char *const no_numbers[] = {"many\n", "", "\n", "1x\n", "-1\n", "18446744073709551616\n"};
    for (size_t i = 0; i < N_ROWS(no_numbers); i++) {
        put("memory.peak", no_numbers[i]);
        assert_int_equal(hm_cgroup_read(&cgroup, &map, &reading), 0);
        assert_false(reading.has_usage);
        assert_int_equal(reading.peak_source, HM_PEAK_SAMPLED);
    }
    assert_non_null(strstr(reading.missing, "memory.numa_stat"));
    put("memory.numa_stat", "anon N7=4096\nfile N0=1\n");
    put("hugetlb.1GB.numa_stat", "total=0\n");
    assert_int_equal(hm_cgroup_read(&cgroup, &map, &reading), 0);
    assert_non_null(strstr(reading.missing, "no tier"));
    hm_cgroup_close(&cgroup);
    assert_int_equal(cgroup.dir, -1);
    drop("memory.current");
    drop("memory.peak");
    drop("memory.numa_stat");
    drop("hugetlb.2MB.numa_stat");
    drop("hugetlb.1GB.numa_stat");
    drop("hugetlb.2MB.max");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numastat_refuses), cmocka_unit_test(test_numastat),   cmocka_unit_test(test_hugetlb),
        cmocka_unit_test(test_guard_text),       cmocka_unit_test(test_guard_file), cmocka_unit_test(test_cgroup_files),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
