/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of HeMem: Raybuck, Stamler, Zhang, Erez, Peter, "HeMem: Scalable Tiered Memory Management for Big Data
 * Applications and Real NVM", SOSP 2021, its sections on the tracking of accesses and on the policy of migration. A
 * page is hot when it has 8 samples of reads or 4 of writes, as writes to the slow tier cost more. When a page exceeds
 * 18, all counts are halved (cooling.h). Hot pages of the slow tier are promoted, those hot by writes before the
 * others; for each, a cold page of the fast tier is demoted; if there is no cold one left, nothing is promoted. Both
 * lists are queues: first in, first out. No cost is compared with the gain.
 *
 * What is taken instead of what a trace or the paper does not say: within a phase the order in which pages entered a
 * queue is unknown, so they go by address; and a page that was never hot is in the queue of cold ones from the start.
 * The paper samples one in 5000 accesses, and only loads that miss the cache: at the replay's period fewer pages reach
 * the thresholds.
 */
#include "cooling.h"
#include "exchange.h"

#define HOT_READS 8 /* samples */
#define HOT_WRITES 4
/* Ranks: cold pages are below HOT, and those that are hot by writes above WRITTEN. */
#define HOT 1e12
#define WRITTEN 3e12

static struct hm_decider *create(const struct hm_decider_options *options)
{
    return hm_rival_new(&hm_rival_hemem, options, sizeof(struct hm_rival));
}

static double rank_of(const struct hm_rival_counts *counts)
{
    if (!counts->is_hot)
        return counts->changed; /* who became cold first is demoted first */
    return (counts->writes >= HOT_WRITES ? WRITTEN : HOT) + HOT - counts->changed;
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_rival *rival = (struct hm_rival *)decider;
    hm_rival_begin_end(rival);
    hm_rival_count_and_cool(rival);
    for (size_t i = 0; i < rival->n_pages; i++) {
        struct hm_rival_counts *counts = &rival->page[i].counts;
        bool is_hot = counts->reads >= HOT_READS || counts->writes >= HOT_WRITES;
        if (is_hot != counts->is_hot)
            counts->changed = rival->n_phases;
        counts->is_hot = is_hot;
        rival->page[i].rank = rank_of(counts);
    }
    hm_rival_make_extents(rival);
}

static enum hm_verdict rule(struct hm_rival *rival, const struct hm_rival_page *hot, const struct hm_rival_page *cold)
{
    (void)rival;
    if (!hot->counts.is_hot)
        return HM_VERDICT_NEW;
    return cold && cold->counts.is_hot ? HM_VERDICT_ROOM : HM_VERDICT_PROMOTE;
}

static void plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    hm_rival_plan((struct hm_rival *)decider, budget, rule);
}

const struct hm_algorithm hm_rival_hemem = {
    .name = "hemem",
    .about = "for comparison: HeMem (SOSP 2021), pages above fixed counts are hot",
    .create = create,
    .destroy = hm_rival_destroy,
    .observe = hm_rival_observe,
    .forget = hm_rival_forget,
    .end_phase = end_phase,
    .plan = plan,
};
