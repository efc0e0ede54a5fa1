/* SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms.h"
#include "base/clock.h"
#include "placement.h"
#include "sampler.h"

/* the state of one replay */
struct run {
    const struct hm_trace *trace;
    const struct hm_replay_options *options;
    struct hm_placement placement;
    struct hm_decider *decider;
    struct hm_random random;
    struct hm_heat_share share;         /* under load */
    struct hm_observation *observation; /* room for the longest phase */
    size_t n_observations;
    double accesses; /* accesses of the sampled kind so far */
    uint64_t samples;
    double decide_s;
};

/*
 * Decides which of `count` samples are removed, and returns how many stay. Of the *total samples that are not decided
 * yet, *excess are to be removed, each with the same chance.
 */
static uint64_t thin(struct hm_random *random, uint64_t count, uint64_t *total, uint64_t *excess)
{
    uint64_t kept = 0;
    for (; count > 0 && *excess > 0; count--, --*total) {
        bool goes = hm_random_below(random, *total) < *excess;
        *excess -= goes;
        kept += !goes;
    }
    *total -= count;
    return kept + count;
}

/* Removes samples at random where more were drawn than a counter that overflows every `period` accesses could take. */
static void keep_to_period(struct run *run, uint64_t drawn)
{
    uint64_t most = (uint64_t)(run->accesses / run->options->period);
    uint64_t excess = run->samples + drawn > most ? run->samples + drawn - most : 0, total = drawn;
    run->samples += drawn - excess;
    for (size_t i = 0; i < run->n_observations && excess > 0; i++) {
        struct hm_observation *observation = &run->observation[i];
        observation->reads = (float)thin(&run->random, (uint64_t)observation->reads, &total, &excess);
        observation->writes = (float)thin(&run->random, (uint64_t)observation->writes, &total, &excess);
    }
}

static void sample_phase(struct run *run, const struct hm_trace_phase *phase)
{
    uint64_t drawn = 0;
    run->n_observations = 0;
    for (size_t i = phase->first; i < phase->first + phase->count; i++) {
        const struct hm_trace_row *row = &run->trace->row[i];
        bool is_raw = run->options->sampled == HM_SAMPLED_RAW;
        uint32_t reads = is_raw ? row->raw_reads : row->mem_reads, writes = is_raw ? row->raw_writes : row->mem_writes;
        uint64_t read = hm_sampler_draw(&run->random, reads, run->options->period);
        uint64_t written = hm_sampler_draw(&run->random, writes, run->options->period);
        run->accesses += (double)reads + writes;
        if (read + written == 0)
            continue;
        drawn += read + written;
        run->observation[run->n_observations++] =
            (struct hm_observation){.page = HM_PAGE(0, run->trace->page[row->page]),
                                    .n_pages = 1,
                                    .reads = (float)read,
                                    .writes = (float)written,
                                    .knows_writes = true};
    }
    keep_to_period(run, drawn);
}

/* Index of the first page of the trace at or after `page`. */
static size_t find_page(const struct hm_trace *trace, uint64_t page)
{
    size_t low = 0, high = trace->n_pages;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (HM_PAGE(0, trace->page[middle]) < page)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_in(const struct run *run, struct hm_extent *extent, size_t n_extents)
{
    for (size_t i = 0; i < n_extents; i++) {
        memset(extent[i].tier_pages, 0, sizeof(extent[i].tier_pages));
        size_t page = find_page(run->trace, extent[i].first);
        for (; page < run->trace->n_pages && run->trace->page[page] - extent[i].first < extent[i].n_pages; page++)
            extent[i].tier_pages[run->placement.tier[page]] += run->placement.is_present[page];
    }
}

/* Carries out a move. The plan has made sure that the tier has room for it (hm_decider_plan). */
static void carry_out(struct run *run, const struct hm_move *move)
{
    struct hm_placement *placement = &run->placement;
    uint64_t left = move->limit;
    size_t page = find_page(run->trace, move->first);
    for (; page < run->trace->n_pages && run->trace->page[page] - move->first < move->n_pages && left > 0; page++) {
        if (!placement->is_present[page] || placement->tier[page] != move->from)
            continue;
        hm_placement_move(placement, page, move->to);
        left--;
    }
}

static void run_phase(struct run *run, size_t phase, hm_replay_watch *watch, void *data)
{
    size_t n_extents, n_moves;
    hm_placement_touch(&run->placement, phase);
    hm_placement_serve(&run->placement, phase);
    sample_phase(run, &run->trace->phase[phase]);

    double before = hm_clock_s(CLOCK_PROCESS_CPUTIME_ID);
    hm_decider_observe(run->decider, run->observation, run->n_observations);
    hm_decider_end_phase(run->decider);
    struct hm_extent *extent = hm_decider_extents(run->decider, &n_extents);
    run->decide_s += hm_clock_s(CLOCK_PROCESS_CPUTIME_ID) - before;
    fill_in(run, extent, n_extents);

    before = hm_clock_s(CLOCK_PROCESS_CPUTIME_ID);
    struct hm_budget budget = {.move_pages = UINT64_MAX,
                               .phases_left = -1,
                               .fast_latency = 1,
                               .slow_latency = run->options->tier[run->options->n_tiers - 1].read};
    memcpy(budget.capacity_pages, run->placement.capacity, sizeof(budget.capacity_pages));
    memcpy(budget.used_pages, run->placement.used, sizeof(budget.used_pages));
    if (run->options->load)
        hm_loaded_tell(&run->placement.loaded, run->options, &run->share, &budget);
    const struct hm_move *move = hm_decider_plan(run->decider, &budget, &n_moves);
    run->decide_s += hm_clock_s(CLOCK_PROCESS_CPUTIME_ID) - before;
    extent = hm_decider_extents(run->decider, &n_extents);
    if (watch)
        watch(data, phase, extent, n_extents, run->placement.tier, move, n_moves);
    /* The program ends with the last phase: moves after it would be useless. */
    for (size_t i = 0; i < n_moves && phase + 1 < run->trace->n_phases; i++)
        carry_out(run, &move[i]);
}

static int check_tiers(const struct hm_replay_options *options, struct hm_error *error)
{
    double shares = 0;
    if (options->n_tiers < 2 || options->n_tiers > HM_MAX_TIERS)
        return hm_fail(error, EINVAL, "n_tiers: %u is out of range: use 2 to %d", options->n_tiers, HM_MAX_TIERS);
    for (unsigned tier = 0; tier < options->n_tiers; tier++) {
        const struct hm_replay_tier *here = &options->tier[tier], *before = tier > 0 ? here - 1 : here;
        shares += tier + 1 < options->n_tiers ? here->share : 0;
        if (!(here->share >= 0) || !(shares <= 1 + 1e-9))
            return hm_fail(error, EINVAL, "share of %s: %g is out of range: use 0 to 1 for all tiers together",
                           here->name, here->share);
        if (!isfinite(here->read) || !isfinite(here->write) || here->read < 1 || here->write < before->write ||
            here->read < before->read || !(here->write > 0))
            return hm_fail(error, EINVAL, "latencies of %s: %g and %g are out of range: give the fastest tier first",
                           here->name, here->read, here->write);
    }
    return 0;
}

static int check_options(const struct hm_replay_options *options, struct hm_error *error)
{
    if (check_tiers(options, error) < 0)
        return -1;
    if (!(options->period >= 1) || !isfinite(options->period))
        return hm_fail(error, EINVAL, "period: %g is out of range: use 1 or more", options->period);
    if (options->load && options->n_tiers != 2)
        return hm_fail(error, EINVAL, "load: it knows two tiers, and there are %u", options->n_tiers);
    if (options->load && !(options->phase_s > 0 && isfinite(options->phase_s)))
        return hm_fail(error, EINVAL, "phase_s: %g is out of range: use more than 0", options->phase_s);
    return 0;
}

/* Sets what the tiers' latencies mean for the decision code. */
static void set_latencies(const struct hm_replay_options *options, struct hm_decider_options *decider)
{
    double read[HM_MAX_TIERS] = {0}, write[HM_MAX_TIERS] = {0};
    for (unsigned tier = 0; tier < options->n_tiers; tier++) {
        read[tier] = options->tier[tier].read;
        write[tier] = options->tier[tier].write;
    }
    hm_decider_set_latencies(decider, options->n_tiers, read, write, HM_LINES_PER_PAGE);
}

static int start(struct run *run, struct hm_error *error)
{
    const struct hm_replay_options *options = run->options;
    struct hm_decider_options decider = {.algorithm = options->algorithm,
                                         .period = options->period,
                                         .page_bytes = HM_TRACE_PAGE,
                                         .max_extents = options->max_extents,
                                         .counts_memory = options->sampled == HM_SAMPLED_MEM};
    set_latencies(options, &decider);
    if (options->load)
        hm_loaded_prices(options, &decider);
    size_t most = 0;
    for (size_t phase = 0; phase < run->trace->n_phases; phase++)
        most = run->trace->phase[phase].count > most ? run->trace->phase[phase].count : most;
    run->decider = hm_replay_decider(&decider, error);
    if (!run->decider)
        return -1;
    run->observation = calloc(most + 1, sizeof(*run->observation));
    if (!run->observation || hm_placement_init(&run->placement, run->trace, options) < 0)
        return hm_fail(error, ENOMEM, "replay: no memory for %zu pages", run->trace->n_pages);
    if (options->load)
        hm_placement_spread(&run->placement);
    return 0;
}

int hm_replay_run(const struct hm_trace *trace, const struct hm_replay_options *options, hm_replay_watch *watch,
                  void *data, struct hm_replay_result *result, struct hm_error *error)
{
    struct run run = {
        .trace = trace, .options = options, .random = {options->seed}, .share = {.served = 0.5, .told = 0.5}};
    int status = check_options(options, error);
    if (status == 0)
        status = start(&run, error);
    int number = errno;
    for (size_t phase = 0; status == 0 && phase < trace->n_phases; phase++)
        run_phase(&run, phase, watch, data);
    if (status == 0)
        *result = (struct hm_replay_result){.ours = hm_placement_score(&run.placement),
                                            .samples = run.samples,
                                            .decide_s = run.decide_s,
                                            .peak_bytes = hm_decider_bytes(run.decider)};
    hm_decider_free(run.decider);
    hm_placement_free(&run.placement);
    free(run.observation);
    errno = number;
    return status;
}
