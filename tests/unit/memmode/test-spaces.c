/* SPDX-License-Identifier: Apache-2.0 */
/* Tests whose namespaces are seen on simulated regions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memmode/commands/spaces.h"
#include "namespace/pmem/parts.h"
#include "unit/lib/rows.h"

#define GIB (UINT64_C(1) << 30)

/* Libndctl's types, as the simulation has them. */
struct ndctl_namespace {
    const char *name; /* the kernel's */
    uint64_t bytes;
    enum { OTHER, OF_JOB, OF_USER } whose;
};

struct ndctl_region {
    const char *name;
    bool is_disabled;
    struct ndctl_namespace namespace[4]; /* up to the first without a name */
};

static struct ndctl_region *regions;
static int n_regions;

int hm_pmem_open(struct hm_pmem **pmem, struct hm_error *error)
{
    (void)error;
    *pmem = calloc(1, sizeof(**pmem));
    assert_non_null(*pmem);
    for (int i = 0; i < n_regions; i++)
        (*pmem)->region[(*pmem)->n_regions++] = &regions[i];
    return 0;
}

void hm_pmem_close(struct hm_pmem *pmem)
{
    free(pmem);
}

bool hm_pmem_is_ours(struct ndctl_namespace *namespace, struct hm_owner *owner)
{
    *owner = (struct hm_owner){.kind = namespace->whose == OF_USER ? HM_OWNER_USER : HM_OWNER_JOB,
                               .job_id = namespace->whose == OF_JOB ? 7 : 0,
                               .uid = namespace->whose == OF_USER ? 1001 : 0};
    hm_owner_set_cluster(owner, "c");
    return namespace->whose != OTHER;
}

const char *ndctl_region_get_devname(struct ndctl_region *region)
{
    return region->name;
}

unsigned long long ndctl_region_get_size(struct ndctl_region *region)
{
    (void)region;
    return 4 * GIB;
}

int ndctl_region_is_enabled(struct ndctl_region *region)
{
    return !region->is_disabled;
}

/* A disabled region shows no namespaces. */
struct ndctl_namespace *ndctl_namespace_get_first(struct ndctl_region *region)
{
    return region->namespace[0].name && !region->is_disabled ? &region->namespace[0] : NULL;
}

struct ndctl_namespace *ndctl_namespace_get_next(struct ndctl_namespace *namespace)
{
    return namespace[1].name ? namespace + 1 : NULL;
}

const char *ndctl_namespace_get_devname(struct ndctl_namespace *namespace)
{
    return namespace->name;
}

unsigned long long ndctl_namespace_get_size(struct ndctl_namespace *namespace)
{
    return namespace->bytes;
}

struct ndctl_region *ndctl_namespace_get_region(struct ndctl_namespace *namespace)
{
    for (int i = 0; i < n_regions; i++)
        if (namespace >= regions[i].namespace && namespace < regions[i].namespace + 4)
            return &regions[i];
    return NULL;
}

static void counts_each_kind(void **state)
{
    (void)state;
    static struct {
        struct ndctl_region region[2];
        struct hm_memmode_spaces expected;
    } rows[] = {
        {{{.name = "region0"}, {.name = "region1"}}, {.region_bytes = 8 * GIB}},
        {{{.name = "region0", .namespace = {{"namespace0.0", 0, OTHER}, {"namespace0.1", 0, OF_JOB}}},
          {.name = "region1"}},
         {.region_bytes = 8 * GIB}}, /* a seed, and a label that has no size yet */
        {{{.name = "region0", .namespace = {{"namespace0.0", GIB, OF_JOB}, {"namespace0.1", GIB, OF_USER}}},
          {.name = "region1", .namespace = {{"namespace1.0", 2 * GIB, OTHER}, {"namespace1.1", GIB, OTHER}}}},
         {.region_bytes = 8 * GIB,
          .n_jobs = 1,
          .n_kept = 1,
          .n_others = 2,
          .job = "hybridmem:c:7.0.0 of job 7",
          .kept = "hybridmem:c:u1001.0.0 of uid 1001",
          .other = "namespace1.0, 2.0 GiB of region1"}},
        {{{.name = "region0"}, {.name = "region1", .is_disabled = true, .namespace = {{"namespace1.0", GIB, OTHER}}}},
         {.region_bytes = 8 * GIB, .hidden = "region1 is disabled"}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_memmode_spaces found, *expected = &rows[i].expected;
        struct hm_error error = {{0}};
        regions = rows[i].region;
        n_regions = N_ROWS(rows[i].region);
        assert_int_equal(hm_spaces_read(&found, &error), 0);
        assert_int_equal(found.region_bytes, expected->region_bytes);
        assert_int_equal(found.n_jobs, expected->n_jobs);
        assert_int_equal(found.n_kept, expected->n_kept);
        assert_int_equal(found.n_others, expected->n_others);
        assert_string_equal(found.job, expected->job);
        assert_string_equal(found.kept, expected->kept);
        assert_string_equal(found.other, expected->other);
        assert_string_equal(found.hidden, expected->hidden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts_each_kind)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
