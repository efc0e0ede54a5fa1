/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what is said where samples are not taken at the rate that was asked for, and what a source that looks at
 * regions tells of sites: the source is fake, the process is a child. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "sites/record/sampler.h"
#include "unit/lib/rows.h"

static const struct {
    uint64_t asked;
    struct hm_source_state state;
    const char *why;
} rows[] = {
    {0, {.name = "clock", .is_time = true, .period = 1000}, ""},
    {0, {.name = "perf", .period = 9000, .unit = 4096}, ""},
    {4096, {.name = "perf", .period = 4096, .unit = 4096}, ""},
    {4096, {.name = ""}, "nothing is sampled here"},
    {4096,
     {.name = "clock", .is_time = true, .period = 4096},
     "the source clock samples by time, and has no rate of accesses"},
    {4000, {.name = "perf", .period = 4096, .unit = 4096}, "the source perf has 1/4096 as the nearest rate"},
    {4096,
     {.name = "perf", .period = 8192, .unit = 4096},
     "1/8192 in the end: finer sampling would cost more than the overhead"},
};

static void test_why_a_rate_is_another(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_sampler sampler = {.period = rows[i].asked, .state = rows[i].state};
        char why[HM_SAMPLER_RATE];
        hm_sampler_explain_rate(&sampler, why);
        assert_string_equal(why, rows[i].why);
    }
}

/* ---------------------------------------------------------- regions */

#define PAGES 64 /* of a mapping, the first half of which is a site's */

static struct hm_source fake;
static struct hm_observation looked; /* what the source tells next; n_pages 0: nothing */
static int updates;
static uint64_t first; /* page of the mapping */
static pid_t child;

static int update(struct hm_source *source, const struct hm_ranks *ranks, const struct hm_maps *maps,
                  struct hm_error *error)
{
    (void)source, (void)error;
    assert_int_equal(ranks->rank[0].pid, child);
    assert_int_equal(hm_maps_count(&maps[0], first, PAGES), PAGES);
    updates++;
    return 0;
}

static int read_looks(struct hm_source *source, const struct hm_ranks *ranks, hm_source_sink *sink, void *data,
                      struct hm_error *error)
{
    (void)source, (void)ranks, (void)error;
    sink(data, &looked, looked.n_pages > 0);
    return 0;
}

static void end_source(struct hm_source *source)
{
    assert_ptr_equal(source, &fake);
}

struct hm_source *__wrap_hm_source_open(const char *name, const struct hm_source_setup *setup, char *why,
                                        struct hm_error *error);
struct hm_source *__wrap_hm_source_open(const char *name, const struct hm_source_setup *setup, char *why,
                                        struct hm_error *error)
{
    (void)why;
    if (strcmp(name, "damon") != 0) {
        hm_fail(error, ENOENT, "is not here");
        return NULL;
    }
    assert_string_equal(setup->broker, "/socket");
    fake = (struct hm_source){.state = {.name = "damon"}, .update = update, .read = read_looks, .fd = -1};
    fake.close = end_source;
    return &fake;
}

/* A process with one block, which has the mapping from this one. */
static void make_watch(struct hm_watch *watch, struct hm_watched *watched)
{
    struct hm_sites_process *head = calloc(1, sizeof(*head));
    const struct hm_sites_block block = {.address = first << hm_page_shift(),
                                         .bytes = (uint64_t)PAGES / 2 << hm_page_shift()};
    child = fork();
    if (child == 0)
        for (;;)
            pause();
    assert_true(head && child > 0);
    head->n_blocks = 1;
    *watched = (struct hm_watched){.process = {.pid = child}, .fd = memfd_create("blocks", 0)};
    assert_int_equal(write(watched->fd, head, sizeof(*head)), sizeof(*head));
    assert_int_equal(write(watched->fd, &block, sizeof(block)), sizeof(block));
    free(head);
    watch->watched = watched;
    watch->n = 1;
    watch->looked_ns = 1;
    watch->folder_fd = -1;
}

static void assert_heat(const struct hm_watch *watch, double reads, double samples, double elsewhere)
{
    assert_float_equal(watch->heat[0].reads, reads, 1e-5);
    assert_float_equal(watch->heat[0].samples, samples, 1e-5);
    assert_float_equal(watch->elsewhere, elsewhere, 1e-5);
}

/* A region's accesses are shared over what is mapped in it; what was found before another way of looking does not
 * count. DAMON is taken where no better source works, there is a broker, and single pages need not be told. */
static void test_looks_at_regions_are_of_sites(void **state)
{
    (void)state;
    struct hm_sampler *sampler = calloc(1, sizeof(*sampler));
    struct hm_watch *watch = calloc(1, sizeof(*watch));
    struct hm_watched watched;
    void *memory = mmap(NULL, PAGES * hm_page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(sampler && watch && memory != MAP_FAILED);
    first = (uintptr_t)memory >> hm_page_shift();
    make_watch(watch, &watched);
    hm_sampler_open(sampler, watch, HM_SAMPLER_PAGES, 0.02, 0, "/socket");
    assert_string_equal(sampler->why, "perf: is not here; clock: is not here");
    hm_sampler_open(sampler, watch, HM_SOURCE_AUTO, 0.02, 0, NULL);
    assert_null(sampler->source);
    hm_sampler_open(sampler, watch, HM_SOURCE_AUTO, 0.02, 0, "/socket");
    assert_ptr_equal(sampler->source, &fake);
    hm_sampler_read(sampler, true);
    assert_int_equal(updates, 1);
    looked = (struct hm_observation){.page = HM_PAGE(0, first), .n_pages = PAGES, .reads = 40, .excess = 3};
    hm_sampler_read(sampler, false);
    assert_heat(watch, 20, 5, 20);
    looked.is_saturated = true;
    hm_sampler_read(sampler, false);
    assert_heat(watch, 40, 10, 40);
    assert_float_equal(watch->saturated, 40, 1e-5);
    fake.state.ways++;
    looked.n_pages = 0;
    hm_sampler_read(sampler, false);
    assert_heat(watch, 40, 10, 40); /* nothing is known in the new way yet */
    looked = (struct hm_observation){.page = HM_PAGE(0, first), .n_pages = PAGES / 2, .reads = 8};
    hm_sampler_read(sampler, false);
    assert_heat(watch, 8, 8, 0);
    assert_float_equal(watch->saturated, 0, 1e-5);
    hm_sampler_close(sampler);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(watched.fd);
    free(watched.now.range);
    free(watched.before.range);
    munmap(memory, PAGES * hm_page_size());
    free(sampler);
    free(watch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_why_a_rate_is_another),
        cmocka_unit_test(test_looks_at_regions_are_of_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
