/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policy of ARMS: Yadalam, Kanellis, Swift, Venkataraman, "ARMS: Adaptive and Robust Memory Tiering System", arXiv
 * 2508.04417, 2025, its sections on hot and cold pages, on the migration policy and on the scheduler. No threshold says
 * what is hot. Each page has a short and a long moving average of its samples; the score weighs both, and the k pages
 * of the highest score are hot, where k is the fast tier's capacity. A page has to be among them twice on end, with a
 * score that does not fall, before it may move. It moves if the gain pays: the difference of the scores of the pages
 * exchanged, times the difference of the latencies, times the number of phases for which the page has been hot, as it
 * is expected to remain so for that long again, must exceed 1.5 times the cost of both moves; and its averages must
 * both exceed those of the page that is demoted. A test for a change point (Page and Hinkley's) of the traffic of the
 * slow tier turns the weights from history to recency. A batch has no more moves than fit into an interval.
 *
 * The numbers are those of the system that the authors have published: an interval of 0.5 s, averages over 1 s and 10
 * s, and those below. What is taken instead of what a trace does not have: a phase is an interval; a write weighs as
 * much more than a read as its latency does, in the paper the bandwidth; the traffic is counted in samples; the cost of
 * a move is the replay's charge, in the paper a moving average of what moves took; an interval is as long as its
 * accesses cost. Where samples are of loads and stores, 5 % of them are taken to reach memory (misses.h), as the paper
 * samples misses only. The finer samples and shorter intervals after a change are left out: all algorithms see the
 * same.
 */
#include <math.h>

#include "arms.h"
#include "exchange.h"
#include "migrator/decide/misses.h"

/* Weights of moving averages over 1 s and 10 s, at two intervals each second: 2 / (n + 1). */
#define RECENT_WEIGHT (2.0 / 3)
#define LASTING_WEIGHT (2.0 / 21)
/* Weight of the short average in the score: as a rule, and after a change. */
#define HISTORY 0.4
#define RECENCY 0.731
#define PAYS 1.5 /* a gain has to be this multiple of the cost */

/* The test for a change point; the drift and the limit are in standard deviations. */
#define MEAN_WEIGHT 0.1
#define VARIANCE_WEIGHT 0.2
#define DRIFT 0.5
#define LIMIT 6
#define RECENT_PHASES 20 /* for which recency counts at least */

struct arms {
    struct hm_rival rival;
    struct hm_rival_change change;
    double gain; /* of one sample per phase in the fast tier instead of the slow one, in reads from the fast one */
    double moves_left; /* pairs of a promotion and a demotion */
};

static struct hm_decider *create(const struct hm_decider_options *options)
{
    return hm_rival_new(&hm_rival_arms, options, sizeof(struct arms));
}

void hm_rival_change_see(struct hm_rival_change *change, double traffic)
{
    if (!change->has_begun) {
        *change = (struct hm_rival_change){.has_begun = true, .mean = traffic};
        return;
    }
    change->mean += MEAN_WEIGHT * (traffic - change->mean);
    double difference = traffic - change->mean;
    change->variance += VARIANCE_WEIGHT * (difference * difference - change->variance);
    double deviation = sqrt(change->variance);
    change->sum = fmax(0, change->sum + difference - DRIFT * deviation);
    change->phases++;
    if (change->sum > LIMIT * deviation) {
        if (!change->is_recent)
            change->phases = 0;
        change->is_recent = true;
        change->sum = 0;
    } else if (change->phases >= RECENT_PHASES && change->sum <= 0) {
        change->is_recent = false;
    }
}

static double write_weight(const struct hm_decider_options *options)
{
    return (1 + options->write_gain[1]) / (1 + options->read_gain[1]);
}

static void end_phase(struct hm_decider *decider)
{
    struct hm_rival *rival = (struct hm_rival *)decider;
    hm_rival_begin_end(rival);
    for (size_t i = 0; i < rival->n_pages; i++) {
        struct hm_rival_page *page = &rival->page[i];
        double seen = page->new_reads + page->new_writes * write_weight(&decider->options);
        page->means.recent += RECENT_WEIGHT * (seen - page->means.recent);
        page->means.lasting += LASTING_WEIGHT * (seen - page->means.lasting);
    }
    hm_rival_make_extents(rival);
}

/* Sees what the phase's samples say of the tiers: is there a change, and how many moves fit into such a phase? */
static void weigh_phase(struct arms *arms, const struct hm_budget *budget)
{
    const struct hm_decider_options *options = &arms->rival.base.options;
    double misses = options->counts_memory ? 1 : hm_misses_per_access(1, 1), slow = 0, cost = 0;
    for (size_t i = 0; i < arms->rival.base.n_extents; i++) {
        const struct hm_extent *extent = &arms->rival.base.extent[i];
        double samples = extent->reads + extent->writes;
        bool is_slow = extent->tier_pages[1] > 0;
        slow += is_slow ? samples : 0;
        cost += is_slow ? (extent->reads + extent->writes * write_weight(options)) * budget->slow_latency
                        : samples * budget->fast_latency;
    }
    hm_rival_change_see(&arms->change, slow);
    arms->gain = (budget->slow_latency - budget->fast_latency) * options->period * misses;
    arms->moves_left = cost * options->period * misses / (options->move_cost[1][0] + options->move_cost[0][1]);
}

/* Sets the scores, as ranks, and who is among the hottest. */
static void rank_pages(struct arms *arms, uint64_t hottest)
{
    struct hm_rival *rival = &arms->rival;
    double recent = arms->change.is_recent ? RECENCY : HISTORY;
    for (size_t i = 0; i < rival->base.n_extents; i++)
        rival->base.extent[i].priority = 0;
    for (size_t i = 0; i < rival->base.n_extents; i++) {
        if (rival->page_of[i] == HM_RIVAL_HOLE)
            continue;
        struct hm_rival_page *page = &rival->page[rival->page_of[i]];
        page->rank = recent * page->means.recent + (1 - recent) * page->means.lasting;
        rival->base.extent[i].priority = page->rank;
    }
    hm_decider_order(&rival->base, rival->order);
    for (size_t place = rival->base.n_extents; place-- > 0;) {
        uint32_t index = rival->page_of[rival->order[place]];
        if (index == HM_RIVAL_HOLE)
            continue;
        struct hm_rival_page *page = &rival->page[index];
        struct hm_rival_means *means = &page->means;
        bool is_hot = hottest > 0 && page->rank > 0;
        means->hot_age = is_hot ? means->hot_age + 1 : 0;
        means->may_move = is_hot && (means->may_move || (means->hot_age > 1 && page->rank >= means->score));
        means->score = page->rank;
        hottest -= hottest > 0;
    }
}

static enum hm_verdict rule(struct hm_rival *rival, const struct hm_rival_page *hot, const struct hm_rival_page *cold)
{
    struct arms *arms = (struct arms *)rival;
    const struct hm_decider_options *options = &rival->base.options;
    const struct hm_rival_means *means = &hot->means;
    if (!means->may_move)
        return HM_VERDICT_NEW;
    if (arms->moves_left < 1)
        return HM_VERDICT_BUDGET;
    if (cold && (cold->means.hot_age > 0 ||
                 fmin(means->recent, means->lasting) < fmax(cold->means.recent, cold->means.lasting)))
        return HM_VERDICT_ROOM;
    double gain = (means->score - (cold ? cold->means.score : 0)) * means->hot_age * arms->gain;
    if (gain < PAYS * (options->move_cost[1][0] + (cold ? options->move_cost[0][1] : 0)))
        return HM_VERDICT_COST;
    arms->moves_left--;
    return HM_VERDICT_PROMOTE;
}

static void plan(struct hm_decider *decider, const struct hm_budget *budget)
{
    struct arms *arms = (struct arms *)decider;
    weigh_phase(arms, budget);
    rank_pages(arms, budget->capacity_pages[0]);
    hm_rival_plan(&arms->rival, budget, rule);
}

const struct hm_algorithm hm_rival_arms = {
    .name = "arms",
    .about = "for comparison: ARMS (2025), the highest scores, moved where that pays",
    .create = create,
    .destroy = hm_rival_destroy,
    .observe = hm_rival_observe,
    .forget = hm_rival_forget,
    .end_phase = end_phase,
    .plan = plan,
};
