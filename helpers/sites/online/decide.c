/* SPDX-License-Identifier: Apache-2.0 */
#include "decide.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/amount.h"
#include "migrator/live/reckon.h"

#define ERRORS 3.0 /* standard errors that a change has to be worth */

static uint64_t movable(const struct hm_online_site *site)
{
    return site->tier_bytes[0] + site->tier_bytes[1];
}

static bool is_fixed(const struct hm_online_site *site)
{
    return movable(site) == 0 && site->fixed_bytes[0] + site->fixed_bytes[1] > 0;
}

/* Which part of a site's accesses goes to `bytes` of its memory; `none`: where it has none. */
static double part_of(const struct hm_online_site *site, uint64_t bytes, double none)
{
    uint64_t all = movable(site) + site->fixed_bytes[0] + site->fixed_bytes[1];
    return all > 0 ? (double)bytes / (double)all : none;
}

/* What the packer is told of a site's accesses: of one that is in the fast tier as many as they may be, of another as
 * few. */
static double value_of(const struct hm_online_site *site)
{
    double part = part_of(site, movable(site), 1), samples = part * site->samples;
    if (!(samples > 0))
        return 0;
    double error = ERRORS * part * site->accesses / sqrt(samples);
    return fmax(part * site->accesses + (site->is_fast ? error : -error), 0);
}

/* The bytes that a chosen site has in the fast tier, of those that can be moved. */
static uint64_t bytes_of(const struct hm_online_site *site)
{
    return is_fixed(site) ? 0 : hm_most(site->bytes, movable(site));
}

static uint64_t sum_bytes(const struct hm_online_site *site, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += bytes_of(&site[i]);
    return sum;
}

/* What there is of the fast tier for memory that can be moved. */
static uint64_t capacity_of(const struct hm_online_scene *scene, const struct hm_online_site *site, size_t n)
{
    uint64_t capacity = scene->capacity;
    for (size_t i = 0; i < n; i++)
        capacity = hm_less(capacity, site[i].fixed_bytes[0]);
    return capacity;
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
        item[i] = (struct hm_pack_item){hm_least(bytes_of(&site[i]), HM_PACK_MOST), value_of(&site[i])};
    int status = hm_pack(scene->packer, item, n, hm_least(capacity_of(scene, site, n), HM_PACK_MOST), &result);
    for (size_t i = 0; i < n && status == 0; i++)
        is_fast[i] = is_fixed(&site[i]) ? site[i].is_fast : is_fast[i];
    free(item);
    return status;
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
    double left = (double)capacity_of(scene, site, n), others = 0;
    for (size_t i = 0; i < n; i++) {
        left -= is_fast[i] ? (double)bytes_of(&site[i]) : 0;
        others += is_fast[i] ? 0 : (double)site[i].tier_bytes[0];
    }
    double kept = others > left ? fmax(left, 0) / others : 1;
    for (size_t i = 0; i < n; i++) {
        double fast = part_of(&site[i], site[i].tier_bytes[0], 1), slow = part_of(&site[i], site[i].tier_bytes[1], 0),
               now = fast + part_of(&site[i], site[i].fixed_bytes[0], 0);
        change.waits += site[i].accesses * (now + (1 - now) * scene->slow);
        change.gain += site[i].accesses * (is_fast[i] ? slow : -fast * (1 - kept));
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
        fast += site[i].is_fast ? site[i].accesses * (1 - part_of(&site[i], site[i].fixed_bytes[1], 0)) : 0;
        choice->fast_bytes += site[i].is_fast ? bytes_of(&site[i]) + site[i].fixed_bytes[0] : 0;
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
    choice->is_full = choice->fast_bytes > 0 && sum_bytes(site, n) > capacity_of(scene, site, n);
    free(is_fast);
    return 0;
}

double hm_online_heat(const struct hm_online_site *site)
{
    uint64_t bytes = site->bytes + site->fixed_bytes[0] + site->fixed_bytes[1];
    return bytes > 0 ? site->accesses / (double)bytes : 0;
}
