/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include <errno.h>
#include <stdio.h>

#include "base/size.h"

#define SHOWN 24 /* bytes of a size as text */

int hm_region_check(const struct hm_region *region, struct hm_error *error)
{
    if (!region->is_enabled)
        return hm_fail(error, ENODEV, "%s is disabled: ndctl enable-region %s", region->name, region->name);
    if (region->is_read_only)
        return hm_fail(error, EROFS, "%s is read-only: its firmware or an administrator has made it so", region->name);
    if (!region->has_labels)
        return hm_fail(error, ENODEV,
                       "%s has no labels and cannot be divided: 'hybridmem namespace provision' says what to do",
                       region->name);
    if (region->align == 0 || region->align % HM_DAX_ALIGN != 0)
        return hm_fail(error, EINVAL, "%s is aligned to %llu bytes: DAX wants a multiple of %llu in its sysfs align",
                       region->name, (unsigned long long)region->align, (unsigned long long)HM_DAX_ALIGN);
    if (region->start % HM_DAX_ALIGN != 0)
        return hm_fail(error, EINVAL, "%s starts at %#llx: DAX wants a multiple of %#llx", region->name,
                       (unsigned long long)region->start, (unsigned long long)HM_DAX_ALIGN);
    return 0;
}

int hm_share_sockets(enum hm_socket which, const struct hm_region *region, int n_regions, const struct hm_set *local,
                     struct hm_set *sockets, struct hm_error *error)
{
    char list[64];
    hm_set_clear(sockets);
    for (int i = 0; i < n_regions; i++)
        if (region[i].socket >= 0)
            hm_set_add(sockets, (unsigned)region[i].socket);
    if (hm_set_is_empty(sockets))
        return hm_fail(error, ENODEV, "this node has no persistent memory region on a known socket");
    if (which == HM_SOCKET_LOCAL)
        hm_set_intersect(sockets, local);
    if (which == HM_SOCKET_REMOTE)
        hm_set_subtract(sockets, local);
    return hm_set_is_empty(sockets)
               ? hm_fail(error, ENODEV, "this process's CPUs are on socket %s: no persistent memory region is %s",
                         hm_set_format(local, list, sizeof(list)), which == HM_SOCKET_LOCAL ? "there" : "elsewhere")
               : 0;
}

/* Round up. Returns UINT64_MAX where that overflows; no region is so large. */
static uint64_t round_up(uint64_t bytes, uint64_t align)
{
    uint64_t more;
    return __builtin_add_overflow(bytes, align - 1, &more) ? UINT64_MAX : more - more % align;
}

static int refuse_full(const struct hm_region *roomiest, int socket, uint64_t bytes, struct hm_error *error)
{
    char wanted[SHOWN], extent[SHOWN], free[SHOWN];
    return hm_fail(error, ENOSPC, "%s on socket %d has no extent of %s: the largest is %s, of %s free in all",
                   roomiest->name, socket, hm_size_format(bytes, wanted, sizeof(wanted)),
                   hm_size_format(roomiest->extent, extent, sizeof(extent)),
                   hm_size_format(roomiest->free, free, sizeof(free)));
}

/* Plan the part of one socket. Returns 0 or -1. */
static int plan_socket(const struct hm_region *region, int n_regions, int socket, uint64_t bytes,
                       struct hm_share *share, struct hm_error *error)
{
    const struct hm_region *best = NULL, *roomiest = NULL;
    bool is_any = false;
    for (int i = 0; i < n_regions; i++) {
        if (region[i].socket != socket)
            continue;
        is_any = true;
        if (hm_region_check(&region[i], error) != 0)
            continue;
        if (!roomiest || region[i].extent > roomiest->extent)
            roomiest = &region[i];
        if (round_up(bytes, region[i].align) <= region[i].extent && (!best || region[i].extent < best->extent))
            best = &region[i];
    }
    if (!is_any)
        return hm_fail(error, ENODEV, "socket %d has no persistent memory region", socket);
    if (!roomiest)
        return -1; /* hm_region_check has written the text */
    if (!best)
        return refuse_full(roomiest, socket, round_up(bytes, roomiest->align), error);
    *share = (struct hm_share){.region = best, .bytes = round_up(bytes, best->align)};
    return 0;
}

int hm_share_plan(const struct hm_region *region, int n_regions, const struct hm_set *sockets, uint64_t bytes,
                  struct hm_share share[HM_MAX_SOCKETS], struct hm_error *error)
{
    unsigned wanted = hm_set_count(sockets);
    int n = 0;
    if (wanted == 0 || bytes == 0)
        return hm_fail(error, EINVAL, "%s", wanted == 0 ? "no socket is named" : "the size is 0: it must be more");
    if (n_regions == 0)
        return hm_fail(error, ENODEV, "this node has no persistent memory region (is the kernel module nfit loaded?)");
    uint64_t each = bytes / wanted + (bytes % wanted != 0);
    for (int socket = hm_set_next(sockets, 0); socket >= 0; socket = hm_set_next(sockets, (unsigned)socket + 1)) {
        if (socket >= HM_MAX_SOCKETS)
            return hm_fail(error, EINVAL, "socket %d is too high: hybridmem is built for sockets 0 to %d", socket,
                           HM_MAX_SOCKETS - 1);
        if (plan_socket(region, n_regions, socket, each, &share[n++], error) != 0)
            return -1;
    }
    return n;
}
