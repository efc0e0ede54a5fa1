/* SPDX-License-Identifier: Apache-2.0 */
#include "compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KEY 384        /* bytes of the names of a site's frames */
#define SAME_PEAK 0.01 /* a peak that differs by less is the same */

struct entry {
    const struct hm_profile_site *site;
    bool is_paired;
    char *key; /* the functions and files of its innermost frames; NULL: they are not known */
};

struct side {
    size_t n;
    struct entry *entry;
};

double hm_sites_share(double all, const struct hm_profile_site *site)
{
    return site && all > 0 ? hm_profile_accesses(site) / all : NAN;
}

/* ---------------------------------------------------------- match */

static int by_id(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    return (left->site->id > right->site->id) - (left->site->id < right->site->id);
}

/* Entries without a key, and those that are paired, come last. */
static int by_key(const void *a, const void *b)
{
    const struct entry *left = a, *right = b;
    bool has_left = left->key && !left->is_paired, has_right = right->key && !right->is_paired;
    if (!has_left || !has_right)
        return has_right - has_left;
    return strcmp(left->key, right->key);
}

/* A line may be another in each build. NULL: a frame has no name; or no memory, with errno ENOMEM. */
static char *make_key(const struct hm_sites_names *names, const struct hm_profile_site *site)
{
    char key[KEY] = "";
    size_t used = 0;
    for (int i = 0; i < site->n_frames && i < HM_SITES_NAMED; i++) {
        const char *name = hm_sites_name_of(names, &site->frame[i]), *line = name ? strrchr(name, ':') : NULL;
        size_t length = line ? (size_t)(line - name) : name ? strlen(name) : 0;
        if (length == 0 || used + length + 2 > sizeof(key))
            return NULL;
        memcpy(key + used, name, length);
        used += length;
        key[used++] = '<';
        key[used] = '\0';
    }
    return used > 0 ? strdup(key) : NULL;
}

/* Returns 0, or -1 (ENOMEM). To be closed in both cases. */
static int open_side(const struct hm_sites_side *from, bool has_keys, struct side *side)
{
    side->n = from->profile->n_sites;
    side->entry = calloc(side->n + 1, sizeof(*side->entry));
    if (!side->entry)
        return -1;
    for (size_t i = 0; i < side->n; i++) {
        side->entry[i].site = &from->profile->site[i];
        side->entry[i].key = has_keys ? make_key(from->names, side->entry[i].site) : NULL;
    }
    qsort(side->entry, side->n, sizeof(*side->entry), by_id);
    return 0;
}

static void close_side(struct side *side)
{
    for (size_t i = 0; side->entry && i < side->n; i++)
        free(side->entry[i].key);
    free(side->entry);
}

static void pair(struct entry *old, struct entry *new, struct hm_sites_changes *changes)
{
    changes->pair[changes->n++] = (struct hm_sites_pair){.old = old->site, .new = new->site};
    old->is_paired = new->is_paired = true;
}

static void pair_by_id(struct side *old, struct side *new, struct hm_sites_changes *changes)
{
    for (size_t i = 0, j = 0; i < old->n && j < new->n;) {
        int order = by_id(&old->entry[i], &new->entry[j]);
        if (order == 0)
            pair(&old->entry[i], &new->entry[j], changes);
        i += order <= 0;
        j += order >= 0;
    }
}

/* How many entries from `at` on have its key. */
static size_t count_same(const struct side *side, size_t at)
{
    size_t n = 1;
    while (at + n < side->n && by_key(&side->entry[at], &side->entry[at + n]) == 0)
        n++;
    return n;
}

static bool has_open_key(const struct side *side, size_t at)
{
    return at < side->n && side->entry[at].key && !side->entry[at].is_paired;
}

/* Only what one site alone has on each side tells which it is. */
static void pair_by_key(struct side *old, struct side *new, struct hm_sites_changes *changes)
{
    qsort(old->entry, old->n, sizeof(*old->entry), by_key);
    qsort(new->entry, new->n, sizeof(*new->entry), by_key);
    size_t n_old = 0, n_new = 0; /* with open keys: pairs are made in the order, which has to stay until the end */
    while (has_open_key(old, n_old))
        n_old++;
    while (has_open_key(new, n_new))
        n_new++;
    struct side left = {n_old, old->entry}, right = {n_new, new->entry};
    for (size_t i = 0, j = 0; i < n_old && j < n_new;) {
        int order = strcmp(left.entry[i].key, right.entry[j].key);
        if (order != 0) {
            i += order < 0;
            j += order > 0;
            continue;
        }
        size_t same_left = count_same(&left, i), same_right = count_same(&right, j);
        if (same_left == 1 && same_right == 1) {
            pair(&left.entry[i], &right.entry[j], changes);
            changes->by_name++;
        } else {
            changes->without_names += same_left + same_right;
        }
        i += same_left;
        j += same_right;
    }
}

/* Sites that are on one side alone. */
static void add_rest(const struct side *side, bool is_new, struct hm_sites_changes *changes)
{
    for (size_t i = 0; i < side->n; i++) {
        const struct entry *entry = &side->entry[i];
        if (entry->is_paired)
            continue;
        struct hm_sites_pair *made = &changes->pair[changes->n++];
        *made = (struct hm_sites_pair){.old = is_new ? NULL : entry->site, .new = is_new ? entry->site : NULL};
        changes->without_names += !changes->is_same_build && !entry->key && entry->site->n_frames > 0;
    }
}

/* ---------------------------------------------------------- judge */

static bool is_outside(double share, struct hm_profile_bounds bounds)
{
    return share < bounds.low || share > bounds.high; /* not where one is NaN */
}

static void judge(const struct hm_profile *old, const struct hm_profile *new, const struct hm_sites_changes *changes,
                  struct hm_sites_pair *pair)
{
    double all_old = changes->old_accesses, all_new = changes->new_accesses;
    if (!pair->old || !pair->new)
        return;
    double before = (double)pair->old->peak_bytes, after = (double)pair->new->peak_bytes;
    pair->has_other_peak = fabs(after - before) > SAME_PEAK * fmax(before, after);
    pair->has_other_share =
        is_outside(hm_profile_share(all_old, pair->old), hm_profile_confidence(new, all_new, pair->new)) &&
        is_outside(hm_profile_share(all_new, pair->new), hm_profile_confidence(old, all_old, pair->old));
}

struct key {
    double share;
    struct hm_sites_pair pair;
};

static int by_share(const void *a, const void *b)
{
    const struct key *left = a, *right = b;
    if (left->share != right->share)
        return left->share > right->share ? -1 : 1;
    uint64_t ids[2] = {(left->pair.new ? left->pair.new : left->pair.old)->id,
                       (right->pair.new ? right->pair.new : right->pair.old)->id};
    return (ids[0] > ids[1]) - (ids[0] < ids[1]);
}

static int sort(struct hm_sites_changes *changes)
{
    struct key *keys = calloc(changes->n + 1, sizeof(*keys));
    for (size_t i = 0; keys && i < changes->n; i++) {
        const struct hm_sites_pair *pair = &changes->pair[i];
        double share = fmax(hm_sites_share(changes->old_accesses, pair->old),
                            hm_sites_share(changes->new_accesses, pair->new)); /* that which is a number, if one is */
        keys[i] = (struct key){isnan(share) ? 0 : share, *pair};
    }
    if (keys)
        qsort(keys, changes->n, sizeof(*keys), by_share);
    for (size_t i = 0; keys && i < changes->n; i++)
        changes->pair[i] = keys[i].pair;
    free(keys);
    return keys ? 0 : -1;
}

static bool is_same_build(const struct hm_profile *old, const struct hm_profile *new)
{
    return old->build_id && new->build_id &&strcmp(old->build_id, new->build_id) == 0;
}

int hm_sites_compare(const struct hm_sites_side *old, const struct hm_sites_side *new, struct hm_sites_changes *changes)
{
    struct side left = {0, NULL}, right = {0, NULL};
    *changes = (struct hm_sites_changes){.is_same_build = is_same_build(old->profile, new->profile)};
    changes->old_accesses = hm_profile_all_accesses(old->profile);
    changes->new_accesses = hm_profile_all_accesses(new->profile);
    changes->pair = calloc(old->profile->n_sites + new->profile->n_sites + 1, sizeof(*changes->pair));
    bool has_keys = !changes->is_same_build;
    int status =
        changes->pair && open_side(old, has_keys, &left) == 0 && open_side(new, has_keys, &right) == 0 ? 0 : -1;
    if (status == 0) {
        pair_by_id(&left, &right, changes);
        if (has_keys)
            pair_by_key(&left, &right, changes);
        add_rest(&left, false, changes);
        add_rest(&right, true, changes);
        for (size_t i = 0; i < changes->n; i++)
            judge(old->profile, new->profile, changes, &changes->pair[i]);
        status = sort(changes);
    }
    close_side(&left);
    close_side(&right);
    errno = status == 0 ? errno : ENOMEM;
    return status;
}
