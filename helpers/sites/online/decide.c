/* SPDX-License-Identifier: Apache-2.0 */
#include "decide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"
#include "migrator/live/reckon.h"

#define ERRORS 3.0 /* standard errors that a change has to be worth */

/* What the packer is told of a site's accesses: of one that is in the fast tier as many as they may be, of another as
 * few. */
static double value_of(const struct hm_online_site *site)
{
    if (!(site->samples > 0))
        return 0;
    double error = ERRORS * site->accesses / sqrt(site->samples);
    return fmax(site->accesses + (site->is_fast ? error : -error), 0);
}

static uint64_t sum_bytes(const struct hm_online_site *site, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += hm_most(site[i].bytes, site[i].tier_bytes[0] + site[i].tier_bytes[1]);
    return sum;
}

/* Lets the packer choose. Returns 0, or -1 (ENOMEM). */
static int pack(const struct hm_online_scene *scene, const struct hm_online_site *site, size_t n, bool *is_fast)
{
    struct hm_pack_item *item = calloc(n + 1, sizeof(*item));
    struct hm_pack_result result = {.is_fast = is_fast};
    if (!item) {
        errno = ENOMEM;
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        item[i] = (struct hm_pack_item){hm_least(site[i].bytes, HM_PACK_MOST), value_of(&site[i])};
    int status = hm_pack(scene->packer, item, n, hm_least(scene->capacity, HM_PACK_MOST), &result);
    free(item);
    return status;
}

/* The part of a site's accesses that the fast tier serves now, as they are taken to be spread evenly. */
static double served(const struct hm_online_site *site)
{
    uint64_t bytes = site->tier_bytes[0] + site->tier_bytes[1];
    return bytes > 0 ? (double)site->tier_bytes[0] / (double)bytes : 1;
}

struct change {
    double gain;  /* in accesses that the fast tier serves more */
    double waits; /* for memory now, in reads from the fast tier */
    double bytes; /* to be moved */
};

/* Sums up what a choice would change. The sites that are not chosen keep of the fast tier what is left, each the same
 * part of what it has. */
static struct change reckon(const struct hm_online_scene *scene, const struct hm_online_site *site, size_t n,
                            const bool *is_fast)
{
    struct change change = {.waits = scene->elsewhere};
    double left = (double)scene->capacity, others = 0;
    for (size_t i = 0; i < n; i++) {
        left -= is_fast[i] ? (double)hm_most(site[i].bytes, site[i].tier_bytes[0] + site[i].tier_bytes[1]) : 0;
        others += is_fast[i] ? 0 : (double)site[i].tier_bytes[0];
    }
    double kept = others > left ? fmax(left, 0) / others : 1;
    for (size_t i = 0; i < n; i++) {
        double now = served(&site[i]), then = is_fast[i] ? 1 : now * kept;
        change.waits += site[i].accesses * (now + (1 - now) * scene->slow);
        change.gain += site[i].accesses * (then - now);
        change.bytes += is_fast[i] ? (double)site[i].tier_bytes[1] : (double)site[i].tier_bytes[0] * (1 - kept);
    }
    return change;
}

static bool is_same(const struct hm_online_site *site, size_t n, const bool *is_fast)
{
    for (size_t i = 0; i < n; i++)
        if (site[i].is_fast != is_fast[i])
            return false;
    return true;
}

static void sum_up(const struct hm_online_site *site, size_t n, struct hm_online_choice *choice)
{
    double all = 0, fast = 0;
    choice->fast_bytes = 0;
    for (size_t i = 0; i < n; i++) {
        all += site[i].accesses;
        fast += site[i].is_fast ? site[i].accesses : 0;
        choice->fast_bytes += site[i].is_fast ? site[i].bytes : 0;
    }
    choice->expected_share = all > 0 ? fast / all : NAN;
}

int hm_online_decide(const struct hm_online_scene *scene, struct hm_online_site *site, size_t n,
                     struct hm_online_choice *choice)
{
    *choice = (struct hm_online_choice){.verdict = HM_ONLINE_BLIND};
    bool *is_fast = calloc(n + 1, sizeof(*is_fast));
    if (!is_fast || (scene->samples >= HM_ONLINE_EVIDENCE && pack(scene, site, n, is_fast) < 0)) {
        free(is_fast);
        errno = ENOMEM;
        return -1;
    }
    if (scene->samples >= HM_ONLINE_EVIDENCE) {
        struct change change = reckon(scene, site, n, is_fast);
        choice->gain = change.waits > 0 ? fmax(change.gain, 0) * (scene->slow - 1) / change.waits : 0;
        bool pays = choice->gain * HM_RECKON_WAITS * scene->use_s >= change.bytes * scene->byte_s;
        choice->verdict = is_same(site, n, is_fast) ? HM_ONLINE_SAME : pays ? HM_ONLINE_NEW : HM_ONLINE_COST;
        for (size_t i = 0; i < n && choice->verdict == HM_ONLINE_NEW; i++)
            site[i].is_fast = is_fast[i];
    }
    sum_up(site, n, choice);
    choice->is_full = choice->fast_bytes > 0 && sum_bytes(site, n) > scene->capacity;
    free(is_fast);
    return 0;
}
