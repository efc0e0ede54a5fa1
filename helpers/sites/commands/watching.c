/* SPDX-License-Identifier: Apache-2.0 */
#include "watching.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/moment.h"
#include "base/size.h"
#include "core/request/request.h"

int hm_watching_open(struct hm_watching *watching, uint64_t least_bytes, struct hm_error *error)
{
    return hm_watch_open(&watching->watch, least_bytes, error);
}

int hm_watching_begin(struct hm_watching *watching, const char *source, double overhead, uint64_t period,
                      const char *broker, const struct hm_online_setup *setup, struct hm_error *error)
{
    double sampling = setup ? overhead / 2 : overhead;
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    watching->series = hm_series_open(); /* without it the profile is without series */
    if (setup && strcmp(source, HM_SOURCE_AUTO) == 0)
        source = HM_SAMPLER_PAGES; /* what is moved is decided by pages */
    hm_sampler_open(&watching->sampler, &watching->watch, source, sampling, period, broker);
    watching->start = time(NULL);
    hm_watch_resident_begin(&watching->resident, sampling * (double)(n_cpus > 0 ? n_cpus : 1), (uint64_t)getpid());
    hm_watch_begin(&watching->watch);
    if (!setup)
        return 0;
    watching->online = hm_online_open(setup, &watching->watch, &watching->sampler, error);
    return watching->online ? 0 : -1;
}

int hm_watching_look_ms(const struct hm_watching *watching)
{
    return watching->online ? HM_ONLINE_LOOK_MS : HM_WATCHING_LOOK_MS;
}

void hm_watching_look(struct hm_watching *watching)
{
    bool has_changed = hm_watch_look(&watching->watch);
    double start_s = hm_clock_s(CLOCK_THREAD_CPUTIME_ID);
    hm_sampler_read(&watching->sampler, has_changed);
    watching->read_s += hm_clock_s(CLOCK_THREAD_CPUTIME_ID) - start_s;
    bool has_seen = hm_watch_resident_look(&watching->resident, &watching->watch);
    hm_series_look(watching->series, &watching->watch, has_seen ? watching->resident.site : NULL);
    if (watching->online)
        hm_online_look(watching->online, watching->read_s);
}

void hm_watching_end(struct hm_watching *watching)
{
    hm_sampler_read(&watching->sampler, false);
    hm_watch_end(&watching->watch);
    hm_series_end(watching->series, &watching->watch);
}

/* The command in one line; the caller frees it. NULL: no memory. */
static char *join(char *const *words)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    for (int i = 0; words[i] && ftell(out) < HM_PROFILE_TEXT / 2; i++)
        fprintf(out, "%s%.*s", i > 0 ? " " : "", HM_PROFILE_TEXT / 2 - 2, words[i]);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Why there are no samples, not those of the best source, or not of all processes and threads. NULL: nothing is to be
 * said, or there is no memory. */
static char *why_of(const struct hm_watching *watching, bool is_seen)
{
    char *text = NULL;
    if (!is_seen && watching->fit.why[0])
        return asprintf(&text, "the program %s", watching->fit.why) < 0 ? NULL : text;
    const char *why = watching->sampler.why, *partly = watching->sampler.state.partly;
    if (!why[0] && !partly[0])
        return NULL;
    return asprintf(&text, "%s%s%s", why, why[0] && partly[0] ? "; " : "", partly) < 0 ? NULL : text;
}

/* Fills in what the recording does not know. Returns 0, or -1. */
static int describe(const struct hm_watching *watching, char *const *words, struct hm_profile *profile)
{
    const struct hm_sampler *sampler = &watching->sampler;
    char moment[HM_MOMENT];
    profile->command = join(words);
    profile->program = strdup(watching->path);
    profile->start = strdup(hm_moment_format(watching->start, moment));
    profile->build_id = watching->fit.build_id[0] ? strdup(watching->fit.build_id) : NULL;
    profile->source = sampler->state.name[0] ? strdup(sampler->state.name) : NULL;
    profile->why = why_of(watching, profile->processes > 0);
    profile->unit = sampler->state.is_time ? 0 : sampler->state.unit;
    profile->lost = sampler->state.lost;
    return profile->command && profile->program && profile->start ? 0 : -1;
}

struct hm_profile *hm_watching_profile(const struct hm_watching *watching, char *const *words, int exit_code)
{
    const struct hm_sampler *sampler = &watching->sampler;
    const struct hm_watch_sampled sampled = {sampler->state.name[0] != '\0', sampler->sees_regions};
    struct hm_profile *profile = calloc(1, sizeof(*profile));
    if (profile && hm_watch_report(&watching->watch, &sampled, profile) == 0 &&
        describe(watching, words, profile) == 0 && hm_profile_find_functions(profile) == 0) {
        profile->exit_code = exit_code;
        hm_series_report(watching->series, &watching->watch, profile);
        return profile;
    }
    hm_profile_free(profile);
    return NULL;
}

void hm_watching_close(struct hm_watching *watching)
{
    hm_online_close(watching->online);
    hm_sampler_close(&watching->sampler);
    hm_series_close(watching->series);
    hm_watch_close(&watching->watch);
}

int hm_watching_take_rate(const char *text, uint64_t *period, struct hm_error *error)
{
    return hm_size_parse_one_in(text, HM_PERIOD_LEAST, HM_PERIOD_MOST, period, error);
}

int hm_watching_take_overhead(const char *text, double *overhead, struct hm_error *error)
{
    double percent;
    if (hm_size_parse_percent(text, &percent, error) < 0)
        return -1;
    if (percent < 0.01 || percent > 50)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use 0.01%% to 50%%", text);
    *overhead = percent / 100;
    return 0;
}

int hm_watching_take_broker(const char *text, const char **broker, struct hm_error *error)
{
    *broker = text;
    return text[0] == '/' ? 0 : hm_fail(error, EINVAL, "\"%.60s\" is no absolute path of a socket", text);
}
