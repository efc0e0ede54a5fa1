/* SPDX-License-Identifier: Apache-2.0 */
#include "online.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/clock.h"
#include "base/pagesize.h"
#include "base/plural.h"
#include "base/size.h"
#include "decide.h"
#include "migrator/live/purse.h"
#include "migrator/live/reckon.h"
#include "pages.h"

#define PHASE_NS UINT64_C(1000000000) /* the shortest phase */
#define LATE 0.5                      /* what a phase before counts of one that follows it */

struct hm_online {
    const struct hm_online_setup *setup;
    struct hm_watch *watch;
    struct hm_sampler *sampler;
    struct hm_online_pages pages;
    struct hm_purse purse;
    unsigned n_cpus;
    double job_s;        /* CPU time of the program's processes */
    double phase_from_s; /* the purse's ran_s when the phase began */
    uint64_t phase_ns;   /* when it began */
    struct {
        double samples, accesses;
    } before[HM_SITES_ENTRIES]; /* of the watch's sites, then */
    double samples_before, elsewhere_before;
    struct hm_online_site site[HM_SITES_ENTRIES]; /* by their index in the table */
    double samples, elsewhere;                    /* as those of sites: lately */
    double seen_fast, seen_all;                   /* accesses by where their pages were */
    struct hm_online_figures figures;
};

/* ---------------------------------------------------------- open and close */

static unsigned count_cpus(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
}

struct hm_online *hm_online_open(const struct hm_online_setup *setup, struct hm_watch *watch,
                                 struct hm_sampler *sampler, struct hm_error *error)
{
    struct hm_set *tiers = calloc(2, sizeof(*tiers));
    struct hm_online *online = calloc(1, sizeof(*online));
    if (!tiers || !online) {
        hm_fail(error, ENOMEM, "out of memory");
        goto failed;
    }
    for (int i = 0; i < setup->layout.n_nodes; i++)
        hm_set_add(&tiers[!setup->layout.node[i].is_fast], (unsigned)setup->layout.node[i].id);
    online->setup = setup;
    online->watch = watch;
    online->sampler = sampler;
    online->n_cpus = count_cpus();
    online->phase_ns = hm_clock_ns(CLOCK_MONOTONIC);
    online->figures.expected_share = online->figures.seen_share = NAN;
    if (hm_online_pages_open(&online->pages, tiers, &sampler->ranks, error) != 0)
        goto failed;
    hm_purse_init(&online->purse, setup->overhead / 2, online->n_cpus, 0); /* the other half is the sampler's */
    watch->table->fast_nodes = tiers[0];
    watch->table->slow_nodes = tiers[1];
    watch->table->fast_bytes = hm_least(setup->capacity, INT64_MAX);
    watch->table->fast_left = (int64_t)watch->table->fast_bytes;
    free(tiers);
    return online;
failed:
    hm_online_close(online);
    free(tiers);
    return NULL;
}

void hm_online_close(struct hm_online *online)
{
    if (online)
        hm_online_pages_close(&online->pages);
    free(online);
}

/* ---------------------------------------------------------- a phase */

/* Adds what the program's processes have used since. */
static void look_at_cost(struct hm_online *online, double read_s)
{
    for (size_t i = 0; i < online->watch->n; i++) {
        struct hm_watched *watched = &online->watch->watched[i];
        double used_s = hm_process_cpu_s(watched->process.pid);
        online->job_s += fmax(used_s - watched->cpu_s, 0);
        watched->cpu_s = fmax(used_s, watched->cpu_s);
    }
    hm_purse_look(&online->purse, online->job_s, fmax(hm_clock_s(CLOCK_PROCESS_CPUTIME_ID) - read_s, 0));
}

/* Adds the phase's samples. */
static void learn(struct hm_online *online)
{
    const struct hm_watch *watch = online->watch;
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        const struct hm_watch_heat *heat = &watch->heat[i];
        struct hm_online_site *site = &online->site[i];
        double accesses = heat->reads + heat->writes;
        site->accesses = LATE * site->accesses + (accesses - online->before[i].accesses);
        site->samples = LATE * site->samples + (heat->samples - online->before[i].samples);
        site->bytes = (uint64_t)(LATE * (double)site->bytes);
        site->tier_bytes[0] = site->tier_bytes[1] = site->fixed_bytes[0] = site->fixed_bytes[1] = 0;
        online->before[i].accesses = accesses;
        online->before[i].samples = heat->samples;
    }
    online->samples = LATE * online->samples + (watch->samples - online->samples_before);
    online->elsewhere = LATE * online->elsewhere + (watch->elsewhere - online->elsewhere_before);
    online->samples_before = watch->samples;
    online->elsewhere_before = watch->elsewhere;
}

/* Finds out how much memory each site has in which tier. Returns 0, or -1. */
static int look_at_memory(struct hm_online *online)
{
    const struct hm_online_pages *pages = &online->pages;
    if (hm_online_pages_read(&online->pages, online->watch) != 0)
        return -1;
    for (size_t i = 0; i < pages->n; i++)
        for (int tier = 0; tier < 2; tier++) {
            struct hm_online_site *site = &online->site[pages->entry[i]];
            site->tier_bytes[tier] += pages->extent[i].tier_pages[tier] * hm_page_size();
            site->fixed_bytes[tier] += pages->shared[i].tier_pages[tier] * hm_page_size();
        }
    online->figures.fixed_bytes = 0;
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        struct hm_online_site *site = &online->site[i];
        site->bytes = hm_most(site->bytes, site->tier_bytes[0] + site->tier_bytes[1]);
        online->figures.fixed_bytes += site->fixed_bytes[0] + site->fixed_bytes[1];
    }
    return 0;
}

static int compare_pages(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* Estimates the fast tier's share of the phase's accesses by its last samples, before anything moves. */
static void tally(struct hm_online *online, double accesses)
{
    static uint64_t page[HM_SAMPLER_LAST];
    static int8_t tier[HM_SAMPLER_LAST];
    size_t n = hm_least(online->sampler->n_last, HM_SAMPLER_LAST), known = 0, fast = 0;
    memcpy(page, online->sampler->last, n * sizeof(*page));
    if (n > 0)
        qsort(page, n, sizeof(*page), compare_pages);
    hm_online_pages_look(&online->pages, page, tier, n);
    for (size_t i = 0; i < n; i++) {
        known += tier[i] >= 0;
        fast += tier[i] == 0;
    }
    online->sampler->n_last = 0;
    if (known == 0)
        return;
    online->seen_fast += accesses * (double)fast / (double)known;
    online->seen_all += accesses;
    online->figures.samples += known;
}

/* Tells the program's library where new memory of each site goes. */
static void tell(struct hm_online *online, const struct hm_online_choice *choice)
{
    struct hm_sites_table *table = online->watch->table;
    struct hm_online_figures *figures = &online->figures;
    figures->n_sites = 0;
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        bool is_fast = online->site[i].is_fast;
        uint64_t id = table->entry[i].id;
        if (is_fast && id != 0)
            figures->site[figures->n_sites++] = id;
        if (id != 0)
            atomic_store(&table->entry[i].tier, is_fast           ? HM_SITES_FAST
                                                : choice->is_full ? HM_SITES_SLOW
                                                                  : HM_SITES_ANY);
    }
    figures->fast_bytes = choice->fast_bytes;
    figures->expected_share = choice->expected_share;
}

/* Bytes that sites have in the fast tier, and that cannot be moved. */
static uint64_t count_fixed(const struct hm_online *online)
{
    uint64_t fixed = 0;
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++)
        fixed += online->site[i].fixed_bytes[0];
    return fixed;
}

static void move(struct hm_online *online)
{
    static bool is_fast[HM_SITES_ENTRIES];
    static double rank[HM_SITES_ENTRIES];
    const struct hm_moved *moved = &online->pages.mover.moved;
    double start_s = hm_clock_s(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++) {
        is_fast[i] = online->site[i].is_fast;
        rank[i] = hm_online_heat(&online->site[i]);
    }
    uint64_t capacity = hm_less(online->setup->capacity, count_fixed(online));
    if (hm_online_pages_move(&online->pages, is_fast, rank, capacity, hm_purse_pages(&online->purse, true)) != 0)
        return;
    uint64_t up = moved->promoted * hm_page_size(), down = moved->demoted * hm_page_size();
    online->figures.promoted_bytes += up;
    online->figures.demoted_bytes += down;
    atomic_fetch_add(&online->watch->table->fast_left, (int64_t)(down - up));
    hm_purse_learn(&online->purse, moved->promoted + moved->demoted, hm_clock_s(CLOCK_THREAD_CPUTIME_ID) - start_s);
}

/* Decides. Returns whether there is a choice by which memory is placed. */
static bool decide(struct hm_online *online)
{
    const struct hm_online_setup *setup = online->setup;
    const struct hm_purse *purse = &online->purse;
    struct hm_online_choice choice;
    uint64_t used = count_fixed(online);
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++)
        used += online->site[i].tier_bytes[0];
    double use_s = hm_reckon_use_s(INFINITY, purse->ran_s, purse->ran_s - online->phase_from_s);
    const struct hm_online_scene scene = {
        .packer = setup->packer,
        .capacity = hm_least(setup->capacity, used + hm_online_pages_room(&online->pages)),
        .samples = online->samples,
        .elsewhere = online->elsewhere,
        .slow = setup->slow > 1 ? setup->slow : HM_ONLINE_SLOW,
        .use_s = use_s * online->n_cpus,
        .byte_s = hm_purse_cost(purse, 1) / (double)hm_page_size(),
    };
    if (hm_online_decide(&scene, online->site, HM_SITES_ENTRIES, &choice) != 0 || choice.verdict == HM_ONLINE_BLIND)
        return false;
    online->figures.phases++;
    if (choice.verdict != HM_ONLINE_COST)
        tell(online, &choice);
    return true;
}

/* Has the phase lasted long enough, with enough samples, and is its decision paid for? The first one shows what it
 * costs. */
static bool is_over(struct hm_online *online, uint64_t now_ns, double read_s)
{
    if (now_ns < online->phase_ns + PHASE_NS || online->watch->samples - online->samples_before < HM_ONLINE_EVIDENCE)
        return false;
    look_at_cost(online, read_s);
    return online->figures.phases == 0 || hm_purse_affords_decision(&online->purse);
}

/* Tells the program's library what is left of the fast tier for new memory. `left`: what it took that to be before the
 * memory was looked at; what was taken and given back since then still counts. */
static void correct(struct hm_online *online, int64_t left)
{
    uint64_t really = hm_least(online->setup->capacity, INT64_MAX) - online->pages.fast_pages * hm_page_size();
    atomic_fetch_add(&online->watch->table->fast_left, (int64_t)(really - (uint64_t)left));
}

void hm_online_look(struct hm_online *online, double read_s)
{
    uint64_t now_ns = hm_clock_ns(CLOCK_MONOTONIC);
    double start_s = hm_clock_s(CLOCK_THREAD_CPUTIME_ID),
           elsewhere = online->watch->elsewhere - online->elsewhere_before;
    if (!is_over(online, now_ns, read_s))
        return;
    learn(online);
    int64_t left = atomic_load(&online->watch->table->fast_left);
    double accesses = elsewhere;
    for (size_t i = 0; i < HM_SITES_ENTRIES; i++)
        accesses += online->site[i].accesses;
    if (look_at_memory(online) == 0) {
        correct(online, left);
        tally(online, accesses);
        bool is_placed = decide(online);
        hm_purse_learn_decision(&online->purse, hm_clock_s(CLOCK_THREAD_CPUTIME_ID) - start_s);
        if (is_placed)
            move(online);
    }
    online->phase_ns = hm_clock_ns(CLOCK_MONOTONIC);
    online->phase_from_s = online->purse.ran_s;
}

/* Why no site was placed. */
static void explain(const struct hm_online *online, char *why, size_t size)
{
    const struct hm_online_figures *figures = &online->figures;
    char fixed[24];
    unsigned long long n = figures->phases;
    const char *decisions = hm_plural(n, "decision", "decisions");
    if (!online->sampler->source && online->sampler->why_last[0])
        snprintf(why, size, "no evidence: %s", online->sampler->why_last);
    else if (figures->phases == 0)
        snprintf(why, size, "no evidence: %.0f %s of the program, and a decision takes %d and a second",
                 online->watch->samples, hm_plural((uint64_t)round(online->watch->samples), "sample", "samples"),
                 HM_ONLINE_EVIDENCE);
    else if (figures->fixed_bytes > 0)
        snprintf(why, size,
                 "no site was worth its moves, in %llu %s; %s of their memory cannot be moved, as processes "
                 "share it since a fork",
                 n, decisions, hm_size_format(figures->fixed_bytes, fixed, sizeof(fixed)));
    else
        snprintf(why, size, "no site was worth its moves, in %llu %s", n, decisions);
}

void hm_online_report(const struct hm_online *online, struct hm_online_figures *figures)
{
    *figures = online->figures;
    figures->limit_bytes = online->setup->capacity;
    figures->seen_share = online->seen_all > 0 ? online->seen_fast / online->seen_all : NAN;
    if (figures->n_sites == 0)
        explain(online, figures->why, sizeof(figures->why));
}
