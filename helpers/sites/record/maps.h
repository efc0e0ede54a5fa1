/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of the processes that are watched, for a source that looks at regions of pages. */
#ifndef HM_SITES_RECORD_MAPS_H
#define HM_SITES_RECORD_MAPS_H

#include "migrator/watch/devices.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"
#include "watch.h"

struct hm_sampler_maps {
    struct hm_maps *maps; /* by space (ranks.h); NULL: none was read */
    uint32_t n;
    unsigned n_looks;
    double looked_s; /* CLOCK_MONOTONIC */
    struct hm_devices devices;
};

/* Is the last look a second ago, or was there none? */
bool hm_sampler_maps_is_due(const struct hm_sampler_maps *all);
/* Reads the mappings of those processes that have other ones, once a second, without those of the recording itself.
 * Returns whether it has. */
bool hm_sampler_maps_look(struct hm_sampler_maps *all, struct hm_ranks *ranks, const struct hm_watch *watch);
/* How many bytes of these pages are mapped, as far as such memory may be moved. */
uint64_t hm_sampler_maps_bytes(const struct hm_sampler_maps *all, uint32_t space, uint64_t first, uint64_t n_pages);
void hm_sampler_maps_free(struct hm_sampler_maps *all);

#endif
