/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which mappings the migrator reads again at the end of a phase. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/live/live.h"
#include "migrator/watch/mapsread.h"

#define N 3 /* processes */

static struct hm_mapped_size size[N];
static unsigned n_read[N];
static uint64_t shared[N]; /* pages that others may map, too */

/* The process with the number p has the pid p + 1. */
struct hm_mapped_size __wrap_hm_mapped_size(pid_t pid);
struct hm_mapped_size __wrap_hm_mapped_size(pid_t pid)
{
    return size[pid - 1];
}

int __wrap_hm_maps_read(struct hm_maps *maps, const struct hm_maps_reader *reader, struct hm_error *error);
int __wrap_hm_maps_read(struct hm_maps *maps, const struct hm_maps_reader *reader, struct hm_error *error)
{
    struct hm_mapped mapped = {.range = {1000, shared[reader->pid - 1]}, .may_move = true};
    (void)error;
    n_read[reader->pid - 1]++;
    hm_maps_clear(maps);
    return shared[reader->pid - 1] > 0 ? hm_maps_add_mapped(maps, &mapped) : 0;
}

static uint64_t n_lacking; /* processes that there is no room for */

int __wrap_hm_ranks_update(struct hm_ranks *ranks, struct hm_error *error);
int __wrap_hm_ranks_update(struct hm_ranks *ranks, struct hm_error *error)
{
    (void)error;
    ranks->n_lacking = n_lacking;
    return (int)ranks->n_living;
}

/* Ends a phase, and checks which processes' mappings were read. */
static void follow(struct hm_live *live, unsigned first, unsigned second, unsigned third)
{
    const unsigned wanted[N] = {first, second, third};
    memset(n_read, 0, sizeof(n_read));
    assert_int_equal(hm_live_follow_maps(live), first + second + third > 0);
    assert_memory_equal(n_read, wanted, sizeof(wanted));
}

/* N processes with so many pages, whose mappings were read. */
static void begin(struct hm_live *live, uint64_t all, uint64_t data)
{
    static struct hm_rank rank[N];
    static struct hm_maps maps[N];
    memset(shared, 0, sizeof(shared));
    for (int p = 0; p < N; p++) {
        rank[p] = (struct hm_rank){.pid = p + 1};
        size[p] = (struct hm_mapped_size){all, data};
    }
    memset(live, 0, sizeof(*live));
    live->intake.ranks = (struct hm_ranks){.n = N, .rank = rank, .n_living = N};
    live->intake.maps = maps;
    follow(live, 1, 1, 1); /* nothing is known */
}

static void end(struct hm_live *live)
{
    for (int p = 0; p < N; p++)
        hm_maps_free(&live->intake.maps[p]);
    hm_maps_free(&live->intake.scratch);
}

static void mappings_are_read_again_where_much_has_changed(void **state)
{
    (void)state;
    static struct hm_live live;
    begin(&live, 10000, 1000);
    struct hm_rank *rank = live.intake.ranks.rank;
    follow(&live, 0, 0, 0);
    size[1].data += 49; /* too little */
    follow(&live, 0, 0, 0);
    size[1].data += 2; /* by now it is enough */
    follow(&live, 0, 1, 0);
    size[2].all -= 60;
    rank[0].is_gone = true;
    size[0].all = 0;
    follow(&live, 0, 0, 1);
    size[2].data = 2000;
    shared[2] = 10; /* which concerns the mappings of others */
    follow(&live, 0, 1, 2);
    size[2].data = 3000;
    follow(&live, 0, 0, 1);
    follow(&live, 0, 0, 0);
    follow(&live, 0, 1, 1); /* as much may have been unmapped as was mapped */
    end(&live);
}

static void mappings_that_were_just_read_are_not_read_again(void **state)
{
    (void)state;
    static struct hm_live live;
    begin(&live, 10000, 1000);
    size[1].data += 500;
    hm_live_read_maps(&live); /* as after a rest */
    follow(&live, 0, 0, 0);
    end(&live);
}

/* A twentieth of a large process may be more than the cap. */
static void what_is_not_known_of_a_large_process_is_little(void **state)
{
    (void)state;
    static struct hm_live live;
    const uint64_t much = HM_REST_BYTES / hm_page_size();
    begin(&live, 1000 * much, 1000 * much);
    size[0].data += much;
    size[1].all += much + 1;
    follow(&live, 0, 1, 0);
    end(&live);
}

/* A process has unmapped an array, and mapped as large a one elsewhere. */
static void mappings_are_read_again_where_much_is_used_that_is_not_known(void **state)
{
    (void)state;
    static struct hm_live live;
    static struct hm_source source = {.state = {.unit = 10}};
    struct hm_mapped library = {.range = {.first = 100, .n_pages = 50}, .kind = HM_MEMORY_PROGRAM};
    begin(&live, 10000, 1000);
    live.intake.source = &source;
    live.account.tally.movable = 930; /* accesses */
    assert_int_equal(hm_maps_add_mapped(&live.intake.maps[1], &library), 0);
    live.intake.later[0] = (struct hm_observation){.page = HM_PAGE(1, 90), .n_pages = 20, .reads = 2};
    live.intake.later[1] = (struct hm_observation){.page = HM_PAGE(2, 100), .n_pages = 20, .reads = 3, .writes = 2};
    live.intake.later[2] = (struct hm_observation){.page = HM_PAGE(HM_RANKS, 0), .n_pages = 1};
    live.intake.n_later = 3;
    follow(&live, 0, 0, 0); /* 50 of 1000 accesses: too few */
    live.account.tally.movable = 900;
    follow(&live, 0, 0, 1);
    live.intake.ranks.rank[2].is_gone = true;
    follow(&live, 0, 0, 0);
    end(&live);
}

/* The same, and nobody has been seen to use it: the step has as much memory as before, but it is not where it was. */
static void mappings_are_read_again_where_known_memory_has_gone_elsewhere(void **state)
{
    (void)state;
    static struct hm_live live;
    begin(&live, 10000, 1000);
    hm_live_weigh_maps(&live, 2000, 1700); /* some memory is in no mapping that is known, as ever */
    follow(&live, 0, 0, 0);
    hm_live_weigh_maps(&live, 2000, 1650);
    follow(&live, 0, 0, 0);
    hm_live_weigh_maps(&live, 2000, 1590); /* more than a twentieth less */
    follow(&live, 1, 1, 1);
    hm_live_weigh_maps(&live, 2000, 1590); /* it was not the mappings */
    follow(&live, 0, 0, 0);
    hm_live_weigh_maps(&live, 1800, 1580); /* some of the unknown memory is gone: more than now is new */
    follow(&live, 0, 0, 0);
    hm_live_weigh_maps(&live, 1800, 1500);
    follow(&live, 0, 0, 0);
    hm_live_weigh_maps(&live, 1800, 1480);
    follow(&live, 1, 1, 1);
    hm_live_weigh_maps(&live, 1000, 1100); /* an estimate may be too high */
    follow(&live, 0, 0, 0);
    end(&live);
}

static void mappings_are_read_again_where_the_mover_has_met_others(void **state)
{
    (void)state;
    static struct hm_live live;
    begin(&live, 10000, 1000);
    follow(&live, 0, 0, 0);
    live.mover.moved.is_stale = true;
    follow(&live, 1, 1, 1);
    follow(&live, 0, 0, 0); /* once */
    end(&live);
}

static int watch_partly(struct hm_source *source, const struct hm_ranks *ranks, const struct hm_maps *maps,
                        struct hm_error *error)
{
    (void)ranks, (void)maps, (void)error;
    snprintf(source->state.partly, sizeof(source->state.partly), "2 of 9 threads are watched: why");
    return 0;
}

static void what_is_not_looked_at_is_told_once(void **state)
{
    (void)state;
    static struct hm_live live;
    static struct hm_progress progress;
    struct hm_source source = {.update = watch_partly};
    begin(&live, 10000, 1000);
    live.shown.progress = &progress;
    for (n_lacking = 4; n_lacking <= 5; n_lacking++)
        hm_live_look(&live);
    assert_int_equal(progress.n_warnings, 0); /* more may come at once */
    for (n_lacking = 5; n_lacking <= 7; n_lacking++)
        hm_live_look(&live);
    assert_int_equal(progress.n_warnings, 1);
    assert_string_equal(progress.warning[0], "3 of 8 processes are looked at: too many open files (ulimit -n)");
    live.intake.source = &source;
    hm_live_look(&live);
    hm_live_look(&live);
    assert_int_equal(progress.n_warnings, 2);
    assert_string_equal(progress.warning[1], "2 of 9 threads are watched: why");
    end(&live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mappings_are_read_again_where_much_has_changed),
                                       cmocka_unit_test(mappings_that_were_just_read_are_not_read_again),
                                       cmocka_unit_test(what_is_not_known_of_a_large_process_is_little),
                                       cmocka_unit_test(mappings_are_read_again_where_much_is_used_that_is_not_known),
                                       cmocka_unit_test(mappings_are_read_again_where_known_memory_has_gone_elsewhere),
                                       cmocka_unit_test(mappings_are_read_again_where_the_mover_has_met_others),
                                       cmocka_unit_test(what_is_not_looked_at_is_told_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
