/* SPDX-License-Identifier: Apache-2.0 */
#include "keep.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/plural.h"
#include "base/size.h"

#define SHOWN 24 /* bytes of a size as text */

int hm_keep_check_offer(const struct hm_config *config, struct hm_error *error)
{
    return config->keep_percent > 0
               ? 0
               : hm_fail(error, ENOTSUP, "nothing is kept on this node: hybridmem.conf sets no fsdax_keep_share");
}

/* Bytes of the region that all users keep. */
static uint64_t kept_in(const struct hm_region *region, const struct hm_owned *owned)
{
    uint64_t bytes = 0;
    for (int i = 0; i < owned->n; i++)
        if (owned->namespace[i].owner.kind == HM_OWNER_USER && strcmp(owned->namespace[i].region, region->name) == 0)
            bytes += owned->namespace[i].bytes;
    return bytes;
}

static uint64_t kept_by(uint32_t uid, const struct hm_owned *owned)
{
    uint64_t bytes = 0;
    for (int i = 0; i < owned->n; i++)
        if (hm_owner_is_of_user(&owned->namespace[i].owner, NULL, uid))
            bytes += owned->namespace[i].bytes;
    return bytes;
}

/* Bytes that are left of the region's share. */
static uint64_t room_in(const struct hm_config *config, const struct hm_region *region, const struct hm_owned *owned)
{
    uint64_t share = hm_config_keep_share(config, region->size), kept = kept_in(region, owned);
    return share > kept ? share - kept : 0;
}

/* Name the first region whose share has too little room. `share` is the plan that would be used without limits on
 * keeping. */
static int refuse_share(const struct hm_config *config, const struct hm_owned *owned, const struct hm_share *share,
                        int n, struct hm_error *error)
{
    char wanted[SHOWN], all[SHOWN], kept[SHOWN];
    int i = 0;
    while (i < n - 1 && share[i].bytes <= room_in(config, share[i].region, owned))
        i++;
    const struct hm_region *region = share[i].region;
    return hm_fail(error, ENOSPC,
                   "%s cannot be kept in %s on socket %d: all users together may keep %s of it (fsdax_keep_share), "
                   "and keep %s",
                   hm_size_format(share[i].bytes, wanted, sizeof(wanted)), region->name, region->socket,
                   hm_size_format(hm_config_keep_share(config, region->size), all, sizeof(all)),
                   hm_size_format(kept_in(region, owned), kept, sizeof(kept)));
}

static int check_quota(const struct hm_config *config, const struct hm_owned *owned, uint32_t uid,
                       const struct hm_share *share, int n, struct hm_error *error)
{
    char wanted[SHOWN], quota[SHOWN], kept[SHOWN];
    uint64_t has = kept_by(uid, owned), bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += share[i].bytes;
    if (config->keep_quota_bytes == 0 || (has <= config->keep_quota_bytes && bytes <= config->keep_quota_bytes - has))
        return 0;
    return hm_fail(error, ENOSPC,
                   "user %u may keep %s on this node (fsdax_keep_quota) and keeps %s: %s more, rounded up to the "
                   "regions' alignment, would be too much",
                   uid, hm_size_format(config->keep_quota_bytes, quota, sizeof(quota)),
                   hm_size_format(has, kept, sizeof(kept)), hm_size_format(bytes, wanted, sizeof(wanted)));
}

int hm_keep_plan(const struct hm_config *config, struct hm_region *region, int n_regions, const struct hm_owned *owned,
                 uint32_t uid, const struct hm_set *sockets, uint64_t bytes, struct hm_share share[HM_MAX_SOCKETS],
                 struct hm_error *error)
{
    struct hm_share without[HM_MAX_SOCKETS];
    struct hm_error narrow = {{0}};
    int n = hm_share_plan(region, n_regions, sockets, bytes, without, error);
    if (n < 0 || check_quota(config, owned, uid, without, n, error) != 0)
        return -1;
    for (int i = 0; i < n_regions; i++) {
        uint64_t room = room_in(config, &region[i], owned);
        region[i].extent = hm_least(region[i].extent, room);
        region[i].free = hm_least(region[i].free, room);
    }
    if (hm_share_plan(region, n_regions, sockets, bytes, share, &narrow) != n)
        return refuse_share(config, owned, without, n, error);
    return n;
}

static const char *name_of(const struct hm_set *sockets)
{
    return hm_plural(hm_set_count(sockets), "socket", "sockets");
}

int hm_keep_fits(const struct hm_config *config, const struct hm_owned *kept, const struct hm_set *sockets,
                 uint64_t bytes, struct hm_error *error)
{
    char size[SHOWN], asked[SHOWN], made[HM_MOMENT], until[HM_MOMENT], on[2][64];
    struct hm_set there;
    uint64_t smallest = UINT64_MAX, n = (uint64_t)kept->n, wanted = hm_set_count(sockets);
    hm_set_clear(&there);
    for (int i = 0; i < kept->n; i++) {
        hm_set_add(&there, kept->namespace[i].owner.socket);
        smallest = hm_least(smallest, kept->namespace[i].bytes);
    }
    if (hm_set_equal(&there, sockets) && wanted == n && bytes / wanted + (bytes % wanted != 0) <= smallest)
        return 0;
    const struct hm_owner *owner = &kept->namespace[0].owner;
    return hm_fail(error, EEXIST,
                   "user %u keeps %s on %s %s of this node, from %s to %s, and this job wants %s on %s %s: "
                   "ask for size=%lluM at most and the same sockets, or have an administrator remove it (hybridmem "
                   "namespace destroy --uid %u)",
                   owner->uid, hm_size_format(smallest * n, size, sizeof(size)), name_of(&there),
                   hm_set_format(&there, on[0], sizeof(on[0])), hm_moment_format(hm_owner_until(owner, 0), made),
                   hm_keep_until(config, owner, until), hm_size_format(bytes, asked, sizeof(asked)), name_of(sockets),
                   hm_set_format(sockets, on[1], sizeof(on[1])), (unsigned long long)(smallest * n >> 20), owner->uid);
}

bool hm_keep_is_over(const struct hm_config *config, const struct hm_owner *owner, int64_t now_s)
{
    return config->path[0] && now_s >= hm_owner_until(owner, config->keep_age_s);
}

char *hm_keep_until(const struct hm_config *config, const struct hm_owner *owner, char out[HM_MOMENT])
{
    out[0] = '\0';
    return config->path[0] ? hm_moment_format(hm_owner_until(owner, config->keep_age_s), out) : out;
}
