/* SPDX-License-Identifier: Apache-2.0 */
/* The job of the simulated node (daysim.h): decides what its processes (dayranks.c) do in each phase of an hour. */
#include "daysim.h"

#define PAGE UINT64_C(4096)
/* Ranks that always have a process, one after another. BURST others have one for two phases. */
#define STEADY 4
#define BURST 12
#define HOT_IN_TEN 8 /* of ten accesses, this many go to the hot part */

static void fill(struct day_rank *rank, bool only_fast)
{
    for (int i = 0; i < DAY_SLOTS; i++)
        day_rank_map(rank, &rank->slot[i], only_fast ? DAY_SLOT_PAGES / 16 : DAY_SLOT_PAGES, only_fast);
}

static void replace(struct day_rank *rank)
{
    day_rank_end(rank);
    day_rank_start(rank);
    fill(rank, false);
    day_rank_add_thread(rank);
}

/* Gives each of the STEADY ranks little memory, in the fast tier alone, or a lot of memory. */
static void refill(bool only_fast)
{
    for (int i = 0; i < STEADY; i++)
        for (int s = 0; s < DAY_SLOTS; s++)
            day_rank_unmap(&day_rank[i], &day_rank[i].slot[s]);
    for (int i = 0; i < STEADY; i++)
        fill(&day_rank[i], only_fast);
}

/* Starts or ends many short-lived processes. */
static void burst(bool begins)
{
    for (int i = STEADY; i < STEADY + BURST; i++) {
        if (!begins) {
            day_rank_end(&day_rank[i]);
            continue;
        }
        day_rank_start(&day_rank[i]);
        day_rank_map(&day_rank[i], &day_rank[i].slot[0], 64, true);
    }
}

static void change_source(unsigned phase)
{
    if (phase == 0 || phase == DAY_REST_FROM)
        day_perf_refuse(false);
    if (phase == DAY_DAMON_FROM) { /* with new processes, as the open events of the old ones go on */
        day_perf_refuse(true);
        for (int i = 0; i < STEADY; i++)
            replace(&day_rank[i]);
    }
    if (phase == DAY_FAULTS_FROM)
        day_broker_drop();
    if (phase == DAY_REST_FROM || phase == DAY_WORK_FROM)
        refill(phase == DAY_REST_FROM);
}

void day_job_phase(unsigned phase)
{
    struct day_rank *rank = &day_rank[phase / 15 % STEADY];
    change_source(phase);
    bool is_little = phase >= DAY_REST_FROM && phase < DAY_WORK_FROM;
    if (phase % 15 == 7 && !is_little)
        replace(rank);
    if (phase % 4 == 1 && !is_little)
        day_slot_jump(&rank->slot[phase / 4 % DAY_SLOTS]);
    if (phase % 3 == 2 && !is_little) {
        struct day_slot *slot = &rank->slot[phase / 3 % DAY_SLOTS];
        day_rank_unmap(rank, slot);
        day_rank_map(rank, slot, DAY_SLOT_PAGES / 2 + day_random(DAY_SLOT_PAGES / 1024) * 512, false);
    }
    if (phase % 40 == 20 || phase % 40 == 22)
        burst(phase % 40 == 20);
    if (phase % 10 == 3 && rank->n_threads < DAY_THREADS)
        day_rank_add_thread(rank);
    if (phase % 10 == 9 && rank->n_threads > 0)
        day_rank_drop_thread(rank);
}

void day_job_start(char *rank_program)
{
    day_ranks_begin(rank_program);
    for (int i = 0; i < STEADY; i++) {
        day_rank_start(&day_rank[i]);
        fill(&day_rank[i], false);
        day_rank_add_thread(&day_rank[i]);
    }
}

void day_job_end(void)
{
    for (int i = 0; i < DAY_RANKS; i++)
        if (day_rank[i].pid)
            day_rank_end(&day_rank[i]);
}

uint64_t day_address(const struct day_rank *rank, bool *is_write)
{
    const struct day_slot *slot = &rank->slot[day_random(DAY_SLOTS)];
    if (slot->n_pages == 0)
        return 0;
    bool is_hot = day_random(10) < HOT_IN_TEN;
    uint64_t page = is_hot ? slot->hot + day_random(slot->n_pages / DAY_HOT_SHARE) : day_random(slot->n_pages);
    *is_write = is_hot && (slot - rank->slot) % 2;
    if (!day_pages_has(slot, page))
        return 0;
    return day_slot_address(rank, slot) + page * PAGE;
}
