/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses which pages DAMON looks at, and how often, for programs that use most of their memory all the time: tune.h
 * then cannot make the time between two looks short enough, as looks never stop there. The memory of all processes is
 * cut into blocks of equal size. In each round every block is visited: one page of it, chosen at random, is looked at
 * some times in a row, in a burst of looks at pages of many blocks. Between two bursts DAMON is off, for as long as the
 * budget wants.
 *
 * A look only finds whether a page was used since the look before. So the time between two looks decides what can be
 * told apart: if it is too long, all pages of a busy program were used; if it is too short, none. It is chosen for each
 * block from a few times, its levels, each twice as long as the one before: where nearly all looks have found a use,
 * the block is visited again at once, with a shorter time; where none has, the next round takes a longer one. Pure.
 */
#ifndef HM_MIGRATOR_DAMON_PROBING_H
#define HM_MIGRATOR_DAMON_PROBING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"
#include "tune.h"
#include "wire.h"

#define HM_DAMON_VISIT_LOOKS 6    /* looks in a visit */
#define HM_DAMON_MOST_PROBES 512  /* pages in a burst */
#define HM_DAMON_MOST_BLOCKS 8192 /* as many as the decision code keeps apart with ease */
#define HM_DAMON_LEVELS 15        /* times between two looks */

/* The time between two looks at a level, in us: 15, 31, 62, 125, 250, 500, 1000 and so on. */
static inline uint32_t hm_damon_level_us(unsigned level)
{
    return (UINT32_C(1000) << level) >> 6;
}

/* A page that a burst looks at. */
struct hm_damon_probe {
    uint32_t process; /* index */
    uint32_t block, range;
    uint64_t page; /* its number: address / hm_page_size() */
};

struct hm_damon_burst {
    unsigned level;
    uint32_t look_us; /* how long DAMON waits between two looks: the level's time, less what a look itself takes */
    unsigned n;
    struct hm_damon_probe probe[HM_DAMON_MOST_PROBES]; /* by process, then page; in general no two are neighbours */
};

/* What DAMON has said of a page of the burst. */
struct hm_damon_seen {
    bool is_known;
    uint32_t accesses; /* looks that have found a use */
};

/* A visit's result. */
struct hm_damon_visit {
    uint32_t accesses, looks; /* looks that have found a use; the number of those that count */
    uint32_t look_us;         /* time between two looks, as it was measured; see hm_damon_probing_count_looks */
};

struct hm_damon_probing {
    struct hm_random random;
    unsigned n_processes, n_ranges;
    struct {
        uint32_t process, first_block;
        uint64_t first, end; /* pages */
    } range[HM_DAMON_TARGETS * HM_DAMON_RANGES];
    struct {
        uint32_t first_block, n_blocks;
        uint32_t n_probes; /* in each burst; 0 where it has ended */
        uint32_t cursor;   /* where the next burst begins to look for blocks */
        unsigned shortest; /* level */
        double running;    /* share of looks that were made while it ran, in the mean of n_running bursts or more */
        unsigned n_running;
        bool has_waited; /* its last burst told nothing, as it has hardly run */
        bool has_ended;
    } process[HM_DAMON_TARGETS];
    uint64_t block_pages; /* a power of two; blocks begin at multiples of it, but not before their range */
    uint32_t n_blocks, n_done, rounds;
    unsigned usual;                      /* level of blocks that had no visit yet, in any round */
    unsigned common;                     /* about the level of most blocks: a burst has as many pages as suit it */
    uint32_t n_busy, n_idle;             /* visits of a burst that found nearly all looks in use, or none */
    double pass_us;                      /* how long DAMON takes to look at one page, before and after it waits */
    double cpu_s, n_visits;              /* what the latest visits took, and their number; older ones weigh less */
    uint64_t begun_ns, span_ns;          /* when this round began; how long a round takes */
    uint8_t level[HM_DAMON_MOST_BLOCKS]; /* of each block: 0 is the shortest time; HM_DAMON_LEVELS: the usual one */
    bool is_done[HM_DAMON_MOST_BLOCKS];  /* the block had its visit in this round */
    /* the last visit, if the block is visited again at once; else accesses is 0 */
    struct hm_damon_visit before[HM_DAMON_MOST_BLOCKS];
    struct {
        uint8_t accesses, looks, level; /* of the last visit; level HM_DAMON_LEVELS: none yet */
    } last[HM_DAMON_MOST_BLOCKS];
    double differed, expected; /* squared differences between two visits of a block, and what chance explains of them */
};

/* Begins with these processes' ranges. What was measured of the cost before holds. */
void hm_damon_probing_begin(struct hm_damon_probing *probing, const struct hm_damon_process *process, unsigned n,
                            const struct hm_damon_needs *needs, uint64_t now_ns);
/*
 * Sets the share of time (0..1) that the process's threads have run; 0: not known. A process that often waits for CPUs
 * gets no times that are shorter than such a wait: looks in the wait would find its hottest pages as idle as any.
 */
void hm_damon_probing_set_share(struct hm_damon_probing *probing, uint32_t process, double share);
/* The process has ended: none of its blocks is visited any more. */
void hm_damon_probing_leave_out(struct hm_damon_probing *probing, uint32_t process);
/*
 * Chooses the pages of the next burst. Each process has as many in each burst (process[].n_probes), as long as the
 * blocks stay as they are: so what has to be set up for a burst stays, too. The blocks are those that had no visit in
 * this round, first of all those of one level; where they are too few, any others. Without blocks, there are no pages.
 */
void hm_damon_probing_choose(struct hm_damon_probing *probing, struct hm_damon_burst *burst);
/*
 * Sets which looks of the burst count, for all visits of the process of the burst's page `first`, its first one. `seen`
 * is of all pages of the burst. A process that waits for a CPU uses no page. So where it shares its CPUs, only so many
 * looks count as have found its hottest pages in use. How many these are in the mean of the last bursts says for which
 * share of the time it runs. Over all time its pages are used so much less: visit->look_us is made longer. Where it has
 * hardly run, visit->looks is 0, unless that was so in its last burst, too.
 */
void hm_damon_probing_count_looks(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, unsigned first,
                                  const struct hm_damon_seen *seen, struct hm_damon_visit *visit);
/*
 * Takes a visit's result. Returns false where it tells nothing, or nothing new, or the block is visited again, with a
 * shorter time, or as the process has hardly run. Else `region` gets what the round has found about the block.
 */
bool hm_damon_probing_take(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, unsigned i,
                           const struct hm_damon_visit *visit, struct hm_damon_region *region);
/*
 * Learns how long DAMON takes to look at the burst's pages, from the time from one look to the next one, in us. Returns
 * the time between two looks at one page: DAMON goes over all pages before and after it waits, so that is the wait, and
 * one of the two.
 */
uint32_t hm_damon_probing_learn_pass(struct hm_damon_probing *probing, const struct hm_damon_burst *burst,
                                     double period_us);
/* Nothing is known of this visit. */
void hm_damon_probing_skip(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, unsigned i);
/*
 * How many times as much as chance explains (1 or more) the visits of one block differ. Where a program uses its pages
 * in turns, one visit finds a page in use all the time, and the next one idle.
 */
double hm_damon_probing_spread(const struct hm_damon_probing *probing);
/* The share of the living processes' blocks that this level, or one with a longer time, suits. */
double hm_damon_probing_share_of(const struct hm_damon_probing *probing, unsigned level);
/*
 * Ends a burst, which took this CPU time, and the round if all blocks had their visit. The next round may have blocks
 * of another size, by the measured cost.
 */
void hm_damon_probing_end(struct hm_damon_probing *probing, const struct hm_damon_burst *burst, double cpu_s,
                          const struct hm_damon_needs *needs, uint64_t now_ns);

#endif
