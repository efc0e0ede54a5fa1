/* SPDX-License-Identifier: Apache-2.0 */
/* The pages of the sites' memory: in which tier they are, and their moves, with the migrator's mover. */
#ifndef HM_SITES_ONLINE_PAGES_H
#define HM_SITES_ONLINE_PAGES_H

#include "alloc/layout.h"
#include "migrator/move/mover.h"
#include "migrator/move/residence.h"
#include "migrator/watch/devices.h"
#include "migrator/watch/mapsread.h"
#include "sharing.h"
#include "sites/record/sampler.h"

struct hm_online_pages {
    struct hm_nodes nodes;
    struct hm_devices devices;
    struct hm_mover mover;
    const struct hm_ranks *ranks; /* the sampler's; the maps below are by its numbers */
    struct hm_maps *maps;
    uint32_t n_maps;
    struct hm_process *process; /* by number, those of the last reading */
    uint32_t n_processes;
    /* stretches of memory of one site, by ascending page: their pages that can be moved, by tier; those that stay where
     * they are, as several processes map them; and the site's index in the table */
    struct hm_extent *extent;
    struct hm_online_shared *shared;
    uint32_t *entry;
    size_t n;
    /* those in the fast tier, and those that go there when they are touched, as it was promised to them (watch.h) */
    uint64_t fast_pages;
};

/* Begins with the tiers' nodes. hm_online_pages_close has to follow, also where it fails. Returns 0, or -1 with a text.
 */
int hm_online_pages_open(struct hm_online_pages *pages, const struct hm_set tiers[2], const struct hm_ranks *ranks,
                         struct hm_error *error);
void hm_online_pages_close(struct hm_online_pages *pages);

/*
 * Finds the memory of all sites, and where it is. Memory that processes share since a fork counts once, as that of the
 * one that has allocated it; once that one has freed it or ended, not at all for as long as others share it. The
 * smallest stretches are left out where there are too many. Returns 0, or -1 (ENOMEM).
 */
int hm_online_pages_read(struct hm_online_pages *pages, const struct hm_watch *watch);

/* In which tier each of these pages is; -1: not known. They are sorted. */
void hm_online_pages_look(const struct hm_online_pages *pages, const uint64_t *page, int8_t *tier, size_t n);

/* Bytes of the fast tier that are free for more. */
uint64_t hm_online_pages_room(const struct hm_online_pages *pages);

/*
 * Moves the memory of the entries with `is_fast` up, and as much of that of others down as has to make room: the
 * first of `rank` is the first to go. Where the former have too much themselves, they go down after the others, and
 * nothing goes up. At most `budget` pages are moved; what sites have in the fast tier stays within `capacity` bytes, or
 * comes closer to it; what cannot be moved counts in neither. Returns 0, or -1 (ENOMEM).
 */
int hm_online_pages_move(struct hm_online_pages *pages, const bool *is_fast, const double *rank, uint64_t capacity,
                         uint64_t budget);

#endif
