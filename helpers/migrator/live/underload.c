/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tiers under load: what traffic they serve, and how much heat belongs in the fast one. The traffic is what the node's
 * counters counted, as the job's monitor left it in its file, else an estimate by samples.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/pagesize.h"
#include "core/apply/loadfile.h"
#include "core/load/text.h"
#include "live.h"
#include "meter/monitor/samples.h"

#define BY_COUNTERS "counters" /* of the node: the traffic of all that runs on it */
#define BY_SAMPLES "samples"   /* an estimate, of the step alone */
/* Counters that were not read again in so many times the usual are not known any more: the monitor has ended. */
#define STILL_TIMES 2

enum counted { NOT_COUNTED, STILL_COUNTED, COUNTED };

void hm_live_begin_load(struct hm_live *live)
{
    const char *path = live->options->traffic;
    live->load.traffic = path[0] ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
}

static void explain(struct hm_live *live, const char *why)
{
    struct hm_progress *progress = live->shown.progress;
    hm_progress_text(progress->balance_why, sizeof(progress->balance_why), why);
}

/* Why the options leave no balance whatever is known of the tiers, or NULL. */
static const char *cannot(const struct hm_options *options)
{
    if (options->hot_by_writes)
        return "only writes make data hot";
    if (options->n_middle > 0)
        return "a balance is known of two tiers, and there are more";
    return strcmp(options->algorithm, "bins") == 0 ? "the algorithm bins does not balance" : NULL;
}

void hm_live_open_load(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    struct hm_error error = {{0}};
    live->load.share = (struct hm_heat_share){.fast = 1, .served = 0.5, .told = 0.5};
    if (cannot(options)) {
        explain(live, cannot(options));
        return;
    }
    if (options->peaks[0])
        live->load.has_curves =
            hm_load_parse("--peaks", options->peaks, strlen(options->peaks), &live->load.curves, &error) == 0;
    else if (options->load[0])
        live->load.has_curves = hm_loadfile_read(options->load, &live->load.curves, &error) == 0;
    if (live->load.has_curves) {
        explain(live, "no decision was made yet");
        return;
    }
    if (error.text[0])
        hm_progress_warn(live->shown.progress, error.text);
    explain(live, error.text[0] ? "the latencies of the tiers under load cannot be read"
                                : "the latencies of the tiers under load are not known");
}

void hm_live_close_load(struct hm_live *live)
{
    if (live->load.traffic >= 0)
        close(live->load.traffic);
}

/* Adds up what the counters of the tiers with these nodes counted. Returns false where a part of it is not known. */
static bool add_up(const struct hm_samples *samples, const struct hm_set *nodes, double *bytes)
{
    bool is_known = false;
    *bytes = 0;
    for (uint32_t tier = 0; tier < samples->n_tiers; tier++) {
        if (!hm_set_intersects(&samples->tier_nodes[tier], nodes))
            continue;
        is_known = true;
        for (int way = 0; way < HM_DIRECTIONS; way++) {
            if (!samples->metered.traffic[tier][way].is_known)
                return false;
            *bytes += samples->metered.traffic[tier][way].amount;
        }
    }
    return is_known;
}

/* The usual time between two readings of the counters, in s. */
static double reading_s(const struct hm_samples *samples)
{
    return fmin(fmax(samples->interval_ms / 1000.0, HM_SAMPLES_METER_LEAST), HM_SAMPLES_METER_MOST);
}

/*
 * Looks at what the monitor has last read of the counters; `passed_s` has passed since the last look of a phase.
 * COUNTED: the traffic since the reading before is known, in GB/s. STILL_COUNTED: there is no new reading, but a
 * traffic from before, and not for long.
 */
static enum counted read_counters(struct hm_live *live, double passed_s, double gbs[2])
{
    static struct hm_samples samples;
    struct hm_live_load *load = &live->load;
    const struct hm_set *nodes[2] = {&live->options->fast, &live->options->slow};
    double bytes[2];
    if (load->traffic < 0 || hm_samples_read_fd(load->traffic, &samples, NULL) != 0)
        return NOT_COUNTED;
    uint64_t now = samples.metered.last_mono_ns, before = load->counted_ns;
    bool is_known = add_up(&samples, nodes[0], &bytes[0]) && add_up(&samples, nodes[1], &bytes[1]);
    bool is_still = is_known && now == before && live->shown.progress->balance_phases > 0;
    load->counted_ns = is_known ? now : 0;
    load->still_s = is_still ? load->still_s + passed_s : 0;
    if (is_still)
        return load->still_s <= STILL_TIMES * reading_s(&samples) ? STILL_COUNTED : NOT_COUNTED;
    for (int tier = 0; tier < 2 && is_known; tier++) {
        gbs[tier] = now > before ? (bytes[tier] - load->counted[tier]) / (double)(now - before) : -1;
        load->counted[tier] = bytes[tier];
    }
    return is_known && before > 0 && gbs[0] >= 0 && gbs[1] >= 0 ? COUNTED : NOT_COUNTED;
}

/* Estimates the traffic of the step by the samples of the phase that ends. Returns what they lack, or NULL. */
static const char *estimate(const struct hm_live *live, double phase_s, double gbs[2])
{
    const struct hm_tally *tally = &live->account.tally;
    if (!live->intake.source || !live->intake.source->state.counts_memory)
        return "no counters, and samples that do not count accesses to memory";
    if (!(tally->last >= 0) || !(phase_s > 0))
        return "no counters of both tiers, and no samples yet";
    double all = tally->last_weight * HM_LINE_BYTES / phase_s / 1e9;
    gbs[0] = all * tally->last;
    gbs[1] = all - gbs[0];
    return NULL;
}

static void tell(struct hm_live_load *load)
{
    hm_loadshare_tell(&load->seen, &load->curves, (double)hm_page_size() / HM_LINE_BYTES, &load->share);
}

static void note(struct hm_live *live, const double gbs[2], const char *source)
{
    struct hm_progress *progress = live->shown.progress;
    double n = (double)progress->balance_phases;
    hm_loadshare_add(&live->load.seen, gbs[0], gbs[1]);
    tell(&live->load);
    progress->balance_share = (progress->balance_share * n + live->load.share.fast) / (n + 1);
    progress->fast_traffic = (progress->fast_traffic * n + gbs[0] * 1e9) / (n + 1);
    progress->slow_traffic = (progress->slow_traffic * n + gbs[1] * 1e9) / (n + 1);
    progress->balance_phases++;
    hm_progress_text(progress->traffic_source, sizeof(progress->traffic_source), source);
    explain(live, "");
}

/* What an access gains, on the mean, by the latencies without load: the options' gains by what was read and written. */
static double mean_gain(const struct hm_options *options, const struct hm_extent *extents, size_t count)
{
    double reads = 0, writes = 0;
    for (size_t i = 0; i < count; i++) {
        reads += extents[i].reads;
        writes += extents[i].writes;
    }
    double all = reads + writes;
    return all > 0 ? (reads * (options->lat_read - 1) + writes * (options->lat_write - 1)) / all : 0;
}

struct hm_heat_share *hm_live_look_at_load(struct hm_live *live, const struct hm_extent *extents, size_t count,
                                           double phase_s)
{
    struct hm_live_load *load = &live->load;
    double gbs[2], gain = mean_gain(live->options, extents, count);
    if (!load->has_curves)
        return NULL;
    enum counted counted = read_counters(live, phase_s, gbs);
    const char *lack = counted == NOT_COUNTED ? estimate(live, phase_s, gbs) : NULL;
    if (lack) {
        load->share.fast = 1;
        if (live->shown.progress->balance_phases == 0)
            explain(live, lack);
        return NULL;
    }
    if (counted == STILL_COUNTED) {
        tell(load); /* as before: only the share of this phase is not known */
        load->share.now = -1;
    } else {
        note(live, gbs, counted == COUNTED ? BY_COUNTERS : BY_SAMPLES);
    }
    if (load->share.fast >= 1 || !(gain > 0))
        return NULL;
    load->share.gain /= gain;
    return &load->share;
}

bool hm_live_wants_balance(struct hm_live *live)
{
    double gbs[2];
    if (live->rest.is_resting && live->load.has_curves && read_counters(live, 0, gbs) == COUNTED)
        note(live, gbs, BY_COUNTERS);
    return live->load.share.fast < 1;
}
