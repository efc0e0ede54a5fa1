/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which mappings the migrator reads again at the end of a phase. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

/* Ends a phase, and checks which processes' mappings were read. */
static void follow(struct hm_live *live, unsigned first, unsigned second, unsigned third)
{
    const unsigned wanted[N] = {first, second, third};
    memset(n_read, 0, sizeof(n_read));
    hm_live_follow_maps(live);
    assert_memory_equal(n_read, wanted, sizeof(wanted));
}

static void mappings_are_read_again_where_much_has_changed(void **state)
{
    (void)state;
    static struct hm_live live;
    static struct hm_rank rank[N];
    static struct hm_maps maps[N];
    for (int p = 0; p < N; p++) {
        rank[p].pid = p + 1;
        size[p] = (struct hm_mapped_size){10000, 1000};
    }
    live.intake.ranks = (struct hm_ranks){.n = N, .rank = rank, .n_living = N};
    live.intake.maps = maps;
    follow(&live, 1, 1, 1); /* nothing is known */
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
    for (int p = 0; p < N; p++)
        hm_maps_free(&maps[p]);
    hm_maps_free(&live.intake.scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(mappings_are_read_again_where_much_has_changed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
