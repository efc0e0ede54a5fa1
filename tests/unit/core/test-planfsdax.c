/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the mode fsdax: which sockets get file systems, what is refused, and what sysfs tells of persistent memory. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "core/plan/plan.h"
#include "core/topology/regions.h"
#include "unit/lib/machines.h"
#include "unit/lib/planrow.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

/* A usable region. */
#define ON(number, on, gib)                                                                                            \
    {                                                                                                                  \
        .id = (number), .socket = (on), .has_labels = true, .bytes = (gib)*GIB                                         \
    }
/* A region that cannot be used, whatever its size. */
#define BAD(number, on, ...)                                                                                           \
    {                                                                                                                  \
        .id = (number), .socket = (on), .bytes = 500 * GIB, __VA_ARGS__                                                \
    }
#define DISABLED " is disabled, so that nothing can be made in it (an administrator's step: ndctl enable-region)" HAS
#define READ_ONLY                                                                                                      \
    " is read-only, so that nothing can be made in it: its firmware or an administrator has made it so" HAS
#define NO_LABELS                                                                                                      \
    " has no labels, so that nothing can be cut from it (an administrator's step: hybridmem namespace provision)" HAS
#define TWO .are_known = true, .n = 2, .region = {ON(0, 0, 100), ON(1, 1, 200)}
#define HAS ": this node has dram (nodes 0-1), pmem (nodes 2-3)"

static struct work work;

static double keep_percent;
static uint64_t keep_quota_bytes;

static int resolve(const char *request, const char *cpus, const struct hm_dax_regions *regions)
{
    memset(&work, 0, sizeof(work));
    machine_make("optane", &work.tiers);
    hm_config_defaults(&work.config);
    work.config.keep_percent = keep_percent;
    work.config.keep_quota_bytes = keep_quota_bytes;
    work.abilities.regions = *regions;
    assert_int_equal(hm_request_parse(request, &work.request, NULL), 0);
    assert_int_equal(hm_set_parse(&work.where.cpus, cpus, NULL), 0);
    return hm_plan_resolve(&work.request, &work.tiers, &work.config, &work.abilities, &work.where, &work.plan,
                           &work.error);
}

static const struct {
    const char *request, *cpus;
    struct hm_dax_regions regions;
    const char *sockets;
    const char *reason; /* a part of the reason */
    const char *warning;
} plans[] = {
    {"fsdax,size=64G",
     "",
     {TWO},
     "0-1",
     "A private DAX file system of 32.0 GiB on each of sockets 0-1, gone with the job; the kernel's map of its pages "
     "takes 1.0 GiB of DRAM (64 bytes for 4 KiB); the job's memory is placed as Linux does by itself.",
     NULL},
    {"fsdax,size=200G", "", {TWO}, "0-1", "100.0 GiB on each of sockets 0-1", NULL},
    {"fsdax,size=100G,socket=local", "1", {TWO}, "0", "100.0 GiB on socket 0", NULL},
    {"fsdax,size=200G,socket=remote", "1", {TWO}, "1", "200.0 GiB on socket 1", NULL},
    {"fsdax,size=2G,socket=local", "1,5", {TWO}, "0-1", "1.0 GiB on each of sockets 0-1", NULL},
    /* only one socket has a region; the larger of two on a socket counts */
    {"fsdax,size=150G", "", {.are_known = true, .n = 1, .region = {ON(3, 1, 200)}}, "1", "150.0 GiB on socket 1", NULL},
    {"fsdax,size=30G", "", {.are_known = true, .n = 2, .region = {ON(0, 0, 10), ON(1, 0, 30)}}, "0", "30.0 GiB", NULL},
    /* an unusable region does not matter where another one on its socket is usable, or nobody asks for its socket */
    {"fsdax,size=60G",
     "",
     {.are_known = true, .n = 3, .region = {ON(0, 0, 30), ON(1, 1, 40), BAD(2, 1, .is_disabled = true)}},
     "0-1",
     "30.0 GiB on each of sockets 0-1",
     NULL},
    {"fsdax,size=30G,socket=local",
     "0",
     {.are_known = true, .n = 2, .region = {ON(0, 0, 30), BAD(1, 1, .is_read_only = true)}},
     "0",
     "30.0 GiB on socket 0",
     NULL},
    {"fsdax,size=30G,socket=remote",
     "5",
     {.are_known = true,
      .n = 3,
      .region = {ON(0, 0, 30), BAD(1, 1, .has_labels = false), BAD(2, -1, .is_disabled = true)}},
     "0",
     "30.0 GiB on socket 0",
     NULL},
    /* a plan for another machine, whose regions are not known */
    {"fsdax,size=64T",
     "",
     {.n = 0},
     "0-1",
     "32.0 TiB on each of sockets 0-1",
     "the node's regions of persistent memory are not known here"},
};

static void test_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(plans); i++) {
        char list[64];
        if (resolve(plans[i].request, plans[i].cpus, &plans[i].regions) != 0)
            fail_msg("%s: %s", plans[i].request, work.error.text);
        assert_true(work.plan.fsdax.is_wanted && !work.plan.fsdax.is_kept);
        assert_int_equal(work.plan.policy, HM_POLICY_DEFAULT);
        assert_true(hm_set_is_empty(&work.plan.nodes));
        assert_string_equal(hm_set_format(&work.plan.fsdax.sockets, list, sizeof(list)), plans[i].sockets);
        assert_int_equal(work.plan.fsdax.size_bytes, work.request.size_bytes);
        assert_int_equal(work.plan.fsdax.map_bytes, work.request.size_bytes / 64);
        if (!strstr(work.plan.reason, plans[i].reason))
            fail_msg("%s: %s", plans[i].request, work.plan.reason);
        assert_int_equal(work.plan.n_warnings, plans[i].warning != NULL);
        if (plans[i].warning)
            assert_string_equal(work.plan.warning[0], plans[i].warning);
    }
}

static const struct {
    const char *request, *cpus;
    struct hm_dax_regions regions;
    const char *said; /* the error after "--hybrid-mem=REQUEST: " */
} refusals[] = {
    {"fsdax,size=1G", "", {.are_known = true}, "there is no region of persistent memory (in App Direct mode)" HAS},
    {"fsdax,size=1G",
     "",
     {.are_known = true, .n = 1, .region = {{.id = 4, .socket = 0, .bytes = 100 * GIB}}},
     "region4 has no labels, so that nothing can be cut from it (an administrator's step: hybridmem namespace "
     "provision)" HAS},
    /* where a socket's region is unusable, the other sockets do not take its part */
    {"fsdax,size=1G",
     "",
     {.are_known = true, .n = 2, .region = {ON(0, 0, 100), BAD(1, 1, .has_labels = false)}},
     "region1" NO_LABELS},
    {"fsdax,size=1G",
     "",
     {.are_known = true, .n = 2, .region = {BAD(2, 0, .has_labels = true, .is_disabled = true), ON(1, 1, 100)}},
     "region2" DISABLED},
    {"fsdax,size=1G",
     "",
     {.are_known = true, .n = 2, .region = {BAD(3, 0, .has_labels = true, .is_read_only = true), ON(1, 1, 100)}},
     "region3" READ_ONLY},
    {"fsdax,size=1G",
     "",
     {.are_known = true, .n = 2, .region = {BAD(3, 0, .is_disabled = true, .is_read_only = true), ON(1, 1, 100)}},
     "region3" DISABLED},
    {"fsdax,size=1G,socket=local",
     "5",
     {.are_known = true, .n = 2, .region = {ON(0, 0, 100), BAD(1, 1, .has_labels = false)}},
     "region1" NO_LABELS},
    {"fsdax,size=1G,socket=remote",
     "5",
     {.are_known = true, .n = 2, .region = {BAD(0, 0, .has_labels = true, .is_read_only = true), ON(1, 1, 100)}},
     "region0" READ_ONLY},
    {"fsdax,size=1G",
     "",
     {.are_known = true, .n = 1, .region = {BAD(6, -1, .has_labels = false)}},
     "region6" NO_LABELS},
    {"fsdax,size=1G,socket=local",
     "0",
     {.are_known = true, .n = 1, .region = {BAD(1, 1, .has_labels = false)}},
     "there is no region of persistent memory on socket 0" HAS},
    {"fsdax,size=1G,socket=local",
     "5",
     {.are_known = true, .n = 1, .region = {ON(0, 0, 100)}},
     "there is no region of persistent memory on socket 1" HAS},
    {"fsdax,size=1G,socket=local", "", {TWO}, "the job's cores are not known before it starts: use socket=all" HAS},
    {"fsdax,size=1G,socket=remote", "", {TWO}, "the job's cores are not known before it starts: use socket=all" HAS},
    {"fsdax,size=1G,socket=remote",
     "0-7",
     {TWO},
     "the task's CPUs are on sockets 0-1, and no other socket has memory" HAS},
    {"fsdax,size=300G", "", {TWO}, "150.0 GiB do not fit on socket 0, whose largest region has 100.0 GiB" HAS},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(refusals); i++) {
        char wanted[HM_ERROR_TEXT];
        snprintf(wanted, sizeof(wanted), "--hybrid-mem=%s: %s", refusals[i].request, refusals[i].said);
        assert_int_equal(resolve(refusals[i].request, refusals[i].cpus, &refusals[i].regions), -1);
        assert_int_equal(errno, ENODEV);
        assert_string_equal(work.error.text, wanted);
        assert_false(work.plan.fsdax.is_wanted);
    }
}

static void test_keeping(void **state)
{
    (void)state;
    static const struct {
        const char *request;
        double percent;
        uint64_t quota;
        const char *said; /* NULL: planned; else the error after "--hybrid-mem=REQUEST: " */
    } rows[] = {
        {"fsdax,size=20G,keep", 10, 0, NULL},
        {"fsdax,size=20G,keep", 10, 20 * GIB, NULL},
        {"fsdax,size=20G,socket=remote,keep", 10, 0, NULL},
        {"fsdax,size=20G,keep", 0, 0, "keep is not offered on this node: hybridmem.conf sets no fsdax_keep_share"},
        {"fsdax,size=20G,keep", 10, 19 * GIB,
         "20.0 GiB are above what each user may keep on a node, 19.0 GiB (fsdax_keep_quota)"},
        {"fsdax,size=21G,keep", 10, 0,
         "10.5 GiB cannot be kept on socket 0: of its largest region, 100.0 GiB, all users together may keep 10.0 GiB "
         "(fsdax_keep_share)"},
        {"fsdax,size=300G,keep", 50, 0, "150.0 GiB do not fit on socket 0, whose largest region has 100.0 GiB" HAS},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char wanted[HM_ERROR_TEXT];
        keep_percent = rows[i].percent;
        keep_quota_bytes = rows[i].quota;
        int result = resolve(rows[i].request, "0", &(struct hm_dax_regions){TWO});
        snprintf(wanted, sizeof(wanted), "--hybrid-mem=%s: %s", rows[i].request, rows[i].said ? rows[i].said : "");
        assert_int_equal(result, rows[i].said ? -1 : 0);
        if (rows[i].said)
            assert_string_equal(work.error.text, wanted);
        else
            assert_non_null(strstr(work.plan.reason, ", kept on this node for your next jobs there until 168 h after"));
        assert_int_equal(work.plan.fsdax.is_kept, !rows[i].said);
    }
    keep_percent = 0;
    keep_quota_bytes = 0;
}

static void put_region(const char *name, const char *size, const char *type, const char *node)
{
    assert_int_equal(mkdir(scratch_path("nd/%s", name), 0700), 0);
    if (size)
        scratch_write(scratch_path("nd/%s/size", name), size);
    if (type)
        scratch_write(scratch_path("nd/%s/nstype", name), type);
    if (node)
        scratch_write(scratch_path("nd/%s/numa_node", name), node);
}

static void test_reading_regions(void **state)
{
    struct hm_dax_regions regions;
    bool seen[2] = {false, false};
    (void)state;
    machine_make("optane", &work.tiers);
    hm_regions_read(scratch_path("none"), &work.tiers.topology, &regions);
    assert_true(regions.are_known);
    assert_int_equal(regions.n, 0);
    assert_int_equal(mkdir(scratch_path("nd"), 0700), 0);
    put_region("namespace0.0", "1073741824\n", "5\n", "0\n");
    put_region("region", "1073741824\n", "5\n", "0\n");
    put_region("region2x", "1073741824\n", "5\n", "0\n");
    put_region("region7", "1073741824\n", "5\n", "1\n");
    put_region("region12", "2147483648\n", "4\n", "-1\n");
    put_region("region13", NULL, "5\n", "1\n");
    assert_int_equal(mkdir(scratch_path("nd/region7/driver"), 0700), 0);
    scratch_write(scratch_path("nd/region7/read_only"), "0\n");
    scratch_write(scratch_path("nd/region12/read_only"), "1\n");
    hm_regions_read(scratch_path("nd"), &work.tiers.topology, &regions);
    assert_int_equal(regions.n, 2);
    for (int i = 0; i < 2; i++) {
        const struct hm_dax_region *region = &regions.region[i];
        bool is_first = region->id == 7;
        seen[is_first] = true;
        assert_int_equal(region->socket, is_first ? 1 : -1);
        assert_int_equal(region->has_labels, is_first);
        assert_int_equal(region->is_disabled, !is_first);
        assert_int_equal(region->is_read_only, !is_first);
        assert_int_equal(region->bytes, is_first ? GIB : 2 * GIB);
    }
    assert_true(seen[0] && seen[1]);
    /* With one socket only, the socket of a region is known even if the kernel does not tell it. */
    work.tiers.topology.n_sockets = 1;
    hm_regions_read(scratch_path("nd"), &work.tiers.topology, &regions);
    for (int i = 0; i < regions.n; i++)
        assert_int_equal(regions.region[i].socket, regions.region[i].id == 7 ? 1 : 0);
}

static void count_label(void *data, const char *label)
{
    assert_string_equal(label, "hybridmem:a:1.0.0");
    ++*(int *)data;
}

static void test_labels(void **state)
{
    int n = 0;
    (void)state;
    assert_false(hm_regions_have_label(scratch_path("none"), "hybridmem:"));
    assert_int_equal(mkdir(scratch_path("nd"), 0700) == 0 || errno == EEXIST, 1);
    put_region("namespace1.0", NULL, NULL, NULL);
    put_region("namespace1.1", NULL, NULL, NULL);
    put_region("dax1.1", NULL, NULL, NULL);
    scratch_write(scratch_path("nd/namespace1.0/alt_name"), "\n");
    scratch_write(scratch_path("nd/dax1.1/alt_name"), "hybridmem:a:1.0.0\n");
    assert_false(hm_regions_have_label(scratch_path("nd"), "hybridmem:"));
    scratch_write(scratch_path("nd/namespace1.1/alt_name"), "hybridmem:a:1.0.0\n");
    assert_true(hm_regions_have_label(scratch_path("nd"), "hybridmem:"));
    assert_false(hm_regions_have_label(scratch_path("nd"), "hybridmem:b"));
    assert_int_equal(hm_regions_each_label(scratch_path("nd"), "hybridmem:", count_label, &n), 0);
    assert_int_equal(hm_regions_each_label(scratch_path("nd"), "hybridmem:b", count_label, &n), 0);
    assert_int_equal(hm_regions_each_label(scratch_path("none"), "hybridmem:", count_label, &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(hm_regions_each_label(scratch_path("nd/dax1.1/alt_name"), "hybridmem:", count_label, &n), -1);
    assert_int_equal(errno, ENOTDIR);
}

static void test_devdax(void **state)
{
    (void)state;
    assert_false(hm_regions_have_devdax(scratch_path("none")));
    assert_int_equal(mkdir(scratch_path("nd"), 0700) == 0 || errno == EEXIST, 1);
    put_region("dax2.0", NULL, NULL, NULL);
    put_region("dax2.1", NULL, NULL, NULL);
    scratch_write(scratch_path("nd/dax2.0/namespace"), "\n");
    assert_false(hm_regions_have_devdax(scratch_path("nd")));
    scratch_write(scratch_path("nd/dax2.1/namespace"), "namespace2.0\n");
    assert_true(hm_regions_have_devdax(scratch_path("nd")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),   cmocka_unit_test(test_refusals), cmocka_unit_test(test_reading_regions),
        cmocka_unit_test(test_keeping), cmocka_unit_test(test_labels),   cmocka_unit_test(test_devdax),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
