/* SPDX-License-Identifier: Apache-2.0 */
#include "maps.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/pagesize.h"
#include "migrator/watch/mapsread.h"

#define LOOK_S 1.0
#define READ_ALL 8 /* one of so many looks reads all: a process may have mapped as much as it has unmapped */

static struct hm_maps_file file_of(const struct stat *status)
{
    return (struct hm_maps_file){(uint64_t)major(status->st_dev) << 32 | minor(status->st_dev), status->st_ino};
}

/* Finds the files of the recording that the process has mapped: they would be half of a small program's memory. */
static size_t find_own(const struct hm_watch *watch, pid_t pid, struct hm_maps_file own[2])
{
    struct stat status;
    size_t n = 0;
    if (fstatat(watch->folder_fd, HM_SITES_TABLE, &status, AT_SYMLINK_NOFOLLOW) == 0)
        own[n++] = file_of(&status);
    for (size_t i = 0; i < watch->n && n < 2; i++)
        if (watch->watched[i].process.pid == pid && fstat(watch->watched[i].fd, &status) == 0)
            own[n++] = file_of(&status);
    return n;
}

static void read_one(struct hm_sampler_maps *all, struct hm_rank *rank, uint32_t space, const struct hm_watch *watch)
{
    struct hm_maps_file own[2];
    struct hm_mapped_size now = hm_mapped_size(rank->pid);
    if (all->n_looks % READ_ALL != 0 && now.all == rank->mapped.all && now.data == rank->mapped.data)
        return;
    rank->mapped = now;
    const struct hm_maps_reader reader = {.pid = rank->pid,
                                          .space = space,
                                          .devices = &all->devices,
                                          .aside = own,
                                          .n_aside = find_own(watch, rank->pid, own)};
    (void)hm_maps_read(&all->maps[space], &reader, NULL); /* where it has ended, it has no memory */
}

bool hm_sampler_maps_is_due(const struct hm_sampler_maps *all)
{
    return hm_clock_s(CLOCK_MONOTONIC) >= all->looked_s + LOOK_S;
}

bool hm_sampler_maps_look(struct hm_sampler_maps *all, struct hm_ranks *ranks, const struct hm_watch *watch)
{
    if (all->maps && !hm_sampler_maps_is_due(all))
        return false;
    if (!all->maps) {
        all->maps = calloc(ranks->n + 1, sizeof(*all->maps));
        all->n = all->maps ? ranks->n : 0;
        all->n_looks = 0;
        hm_devices_init(&all->devices);
    }
    all->looked_s = hm_clock_s(CLOCK_MONOTONIC);
    for (uint32_t space = 0; space < all->n; space++)
        if (hm_ranks_is_there(ranks, space))
            read_one(all, &ranks->rank[space], space, watch);
    all->n_looks++;
    return all->maps != NULL;
}

uint64_t hm_sampler_maps_bytes(const struct hm_sampler_maps *all, uint32_t space, uint64_t first, uint64_t n_pages)
{
    return space < all->n ? hm_maps_count(&all->maps[space], first, n_pages) << hm_page_shift() : 0;
}

void hm_sampler_maps_free(struct hm_sampler_maps *all)
{
    for (uint32_t i = 0; i < all->n; i++)
        hm_maps_free(&all->maps[i]);
    free(all->maps);
    all->maps = NULL;
    all->n = 0;
}
