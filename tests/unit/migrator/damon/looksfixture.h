/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated processes, and what bursts of looks at their pages find. */
#ifndef HM_LOOKSFIXTURE_H
#define HM_LOOKSFIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pagesize.h"
#include "migrator/damon/probing.h"

#define PAGE hm_page_size()
#define INTERVAL_MS 10000
#define BUDGET 10000   /* millionths of a CPU */
#define VISIT_S 200e-6 /* CPU time of a visit, as assumed at first */

extern struct hm_damon_process process[HM_DAMON_TARGETS];
extern struct hm_damon_probing probing;
extern struct hm_damon_burst burst;
extern uint64_t now_ns;

/* What the last round has found, in the order of the visits. */
extern struct found {
    uint32_t process;
    uint64_t page;
    struct hm_damon_region region;
} found[HM_DAMON_MOST_BLOCKS];
extern unsigned n_found;

/* How many of a visit's looks find a use. */
typedef uint32_t uses(uint64_t page, uint32_t look_us);

uses looks_some, looks_all, looks_none;

int looks_set_up(void **state);
/* Adds a range of pages to process p. */
void looks_add_range(unsigned p, uint64_t first, uint64_t end);
/* Begins with n processes that run alone on their CPUs. */
void looks_begin(unsigned n, uint32_t budget);
/* Runs a burst whose visits cost `visit_s` of CPU time. Returns the time between two looks. */
uint32_t looks_run_burst(uses *count, double visit_s, uint32_t budget);
/* Runs a whole round. Returns the time between two looks of its last burst. */
uint32_t looks_run_round(uses *count);
/* Pages of the range that the round's regions have between them, each region being in the range as a whole. */
uint64_t looks_pages_found_in(unsigned p, const struct hm_damon_range *range);
/* Has the round found each page of n processes once? */
void looks_check_round(unsigned n);

#endif
