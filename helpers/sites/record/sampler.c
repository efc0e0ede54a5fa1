/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fit.h"
#include "base/pagesize.h"

#define INTERVAL_MS 1000 /* in which the source fits its period */

/* The best first. Those that see single pages need least the last one; DAMON sees regions of pages. */
static const struct {
    const char *name;
    bool sees_regions;
} sources[] = {{"perf", false}, {"clock", false}, {"damon", true}};
#define N_SOURCES (sizeof(sources) / sizeof(sources[0]))

bool hm_sampler_knows(const char *name, struct hm_error *error)
{
    bool is_known = strcmp(name, HM_SOURCE_AUTO) == 0;
    for (size_t i = 0; i < N_SOURCES; i++)
        is_known |= strcmp(name, sources[i].name) == 0;
    if (!is_known)
        hm_fail(error, EINVAL, "\"%.40s\" is no source of samples of sites: use auto, perf, clock or damon", name);
    return is_known;
}

static bool is_wanted(const char *name, size_t i, bool has_broker)
{
    return (strcmp(name, HM_SOURCE_AUTO) == 0 && (has_broker || !sources[i].sees_regions)) ||
           strcmp(name, sources[i].name) == 0 || (strcmp(name, HM_SAMPLER_PAGES) == 0 && !sources[i].sees_regions);
}

void hm_sampler_open(struct hm_sampler *sampler, struct hm_watch *watch, const char *name, double overhead,
                     uint64_t period, const char *broker)
{
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct hm_source_setup setup = {.period = period,
                                    .overhead = overhead,
                                    .n_cpus = n_cpus > 0 ? (unsigned)n_cpus : 1,
                                    .interval_ms = INTERVAL_MS,
                                    .borrows = broker != NULL,
                                    .stop = -1};
    char unused[HM_WARNING];
    size_t used = 0;
    snprintf(setup.broker, sizeof(setup.broker), "%s", broker ? broker : "");
    *sampler = (struct hm_sampler){.watch = watch, .period = period};
    for (size_t i = 0; i < N_SOURCES && !sampler->source; i++) {
        struct hm_error error = {""};
        if (!is_wanted(name, i, broker != NULL))
            continue;
        sampler->source = hm_source_open(sources[i].name, &setup, unused, &error);
        sampler->sees_regions = sources[i].sees_regions;
        if (sampler->source)
            break;
        if (!sources[i].sees_regions || !sampler->why_last[0]) /* of single pages, the last one needs least */
            hm_fit(sampler->why_last, sizeof(sampler->why_last), "%s: %s", sources[i].name, error.text);
        if (used < sizeof(sampler->why))
            used += (size_t)snprintf(sampler->why + used, sizeof(sampler->why) - used, "%s%s: %s", used ? "; " : "",
                                     sources[i].name, error.text);
    }
    if (sampler->source)
        sampler->state = sampler->source->state;
}

void hm_sampler_explain_rate(const struct hm_sampler *sampler, char why[HM_SAMPLER_RATE])
{
    const struct hm_source_state *state = &sampler->state;
    why[0] = '\0';
    if (sampler->period == 0)
        return;
    if (!state->name[0])
        snprintf(why, HM_SAMPLER_RATE, "nothing is sampled here");
    else if (state->is_time)
        snprintf(why, HM_SAMPLER_RATE, "the source %s samples by time, and has no rate of accesses", state->name);
    else if (state->unit != sampler->period)
        snprintf(why, HM_SAMPLER_RATE, "the source %s has 1/%" PRIu64 " as the nearest rate", state->name, state->unit);
    else if (state->period != sampler->period)
        snprintf(why, HM_SAMPLER_RATE, "1/%" PRIu64 " in the end: finer sampling would cost more than the overhead",
                 state->period);
}

static void take(void *data, const struct hm_observation *seen, size_t count)
{
    struct hm_sampler *sampler = data;
    /* The source looks in another way now: what it found in use before cannot be compared. */
    if (count > 0 && sampler->ways != sampler->source->state.ways)
        hm_watch_forget_hits(sampler->watch);
    sampler->ways = count > 0 ? sampler->source->state.ways : sampler->ways;
    for (size_t i = 0; i < count; i++) {
        uint32_t space = HM_PAGE_SPACE(seen[i].page);
        uint64_t first = HM_PAGE_NUMBER(seen[i].page), start = (first << hm_page_shift()) + seen[i].offset;
        double reads = (double)seen[i].reads, writes = (double)seen[i].writes;
        if (space >= sampler->ranks.n)
            continue;
        struct hm_watch_hit hit = {.start = start,
                                   .end = start + 1,
                                   .mapped = 1,
                                   .reads = reads,
                                   .writes = writes,
                                   .samples = 1,
                                   .is_saturated = seen[i].is_saturated};
        if (sampler->sees_regions) {
            hit.end = start + (seen[i].n_pages << hm_page_shift());
            hit.mapped = hm_sampler_maps_bytes(&sampler->maps, space, first, seen[i].n_pages);
            hit.samples = (reads + writes) / (1 + (double)seen[i].excess);
        }
        sampler->last[sampler->n_last++ % HM_SAMPLER_LAST] = seen[i].page;
        hm_watch_hit(sampler->watch, sampler->ranks.rank[space].pid, &hit);
    }
}

/* The source has ended: no more samples, and the profile says why. */
static void give_up(struct hm_sampler *sampler, const char *why)
{
    snprintf(sampler->why, sizeof(sampler->why), "%s ended before the program: %s", sampler->state.name, why);
    hm_fit(sampler->why_last, sizeof(sampler->why_last), "%s", sampler->why);
    sampler->source->close(sampler->source);
    sampler->source = NULL;
}

/* Tells the source of the processes that there are now. */
static int follow(struct hm_sampler *sampler, struct hm_error *error)
{
    const struct hm_watch *watch = sampler->watch;
    pid_t *pids = calloc(watch->n + 1, sizeof(*pids));
    if (!pids)
        return hm_fail(error, ENOMEM, "out of memory");
    for (size_t i = 0; i < watch->n; i++)
        pids[i] = watch->watched[i].process.pid;
    hm_ranks_free(&sampler->ranks);
    hm_sampler_maps_free(&sampler->maps); /* the processes get other numbers */
    sampler->n_last = 0;
    int status = hm_ranks_init_list(&sampler->ranks, pids, (uint32_t)watch->n, geteuid(), error);
    free(pids);
    if (status == 0)
        sampler->is_watching = hm_ranks_update(&sampler->ranks, error) > 0;
    return status;
}

void hm_sampler_read(struct hm_sampler *sampler, bool has_changed)
{
    struct hm_error error = {""};
    struct hm_source *source = sampler->source;
    int status = 0;
    if (!source)
        return;
    if (sampler->is_watching)
        status = source->read(source, &sampler->ranks, take, sampler, &error);
    sampler->has_to_follow = sampler->has_to_follow || has_changed;
    if (status == 0 && sampler->has_to_follow && (!sampler->sees_regions || hm_sampler_maps_is_due(&sampler->maps))) {
        sampler->has_to_follow = false;
        status = follow(sampler, &error);
    }
    if (status == 0 && sampler->is_watching &&
        (!sampler->sees_regions || hm_sampler_maps_look(&sampler->maps, &sampler->ranks, sampler->watch)))
        status = source->update(source, &sampler->ranks, sampler->maps.maps, &error);
    sampler->state = source->state;
    if (status != 0)
        give_up(sampler, error.text);
}

int hm_sampler_fd(const struct hm_sampler *sampler)
{
    return sampler->source ? sampler->source->fd : -1;
}

void hm_sampler_close(struct hm_sampler *sampler)
{
    if (sampler->source)
        sampler->source->close(sampler->source);
    sampler->source = NULL;
    hm_sampler_maps_free(&sampler->maps);
    hm_ranks_free(&sampler->ranks);
}
