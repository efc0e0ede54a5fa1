/* SPDX-License-Identifier: Apache-2.0 */
/* From a profile to the table of a guided program. Pure. */
#ifndef HM_SITES_GUIDE_CHOOSE_H
#define HM_SITES_GUIDE_CHOOSE_H

#include "sites/pack/pack.h"
#include "sites/profile/profile.h"
#include "table.h"

struct hm_guide_choice {
    const struct hm_packer *packer;
    uint64_t capacity_bytes; /* of the fast tier, for the sites */
    bool has_arenas;         /* can small allocations be placed? */
    uint64_t fast_bytes;     /* most that the chosen sites have at one time */
    double expected_share;   /* of the program's accesses that the fast tier would serve, 0..1 */
    struct hm_guide_table table;
};

/*
 * The mean size of a site's allocations, weighted by how long they live: what it has at a time, over how many it has at
 * a time. Where the profile does not say how long they live, no more than their mean size. Bytes; 0 for a site without
 * allocations. Pure.
 */
double hm_guide_block_bytes(const struct hm_profile *profile, const struct hm_profile_site *site);

/* Can memory of this site, or size class, be placed? Without arenas, allocations have to be large. Size classes are of
 * one program, so they need its build-id. Pure. */
bool hm_guide_can_place(const struct hm_profile *profile, const struct hm_profile_site *site, bool has_arenas);

/* Can a site be limited to a part of the fast tier? Size classes cannot. Pure. */
bool hm_guide_can_limit(const struct hm_profile_site *site);

/* The size from which on allocations have to be looked at for this site: HM_ALLOC_LEAST, or the profile's least where
 * its allocations are smaller; and a little less than HM_ALLOC_LEAST where they are as small, as far as the profile
 * tells. For a size class no stack has to be. Pure. */
uint64_t hm_guide_least_bytes(const struct hm_profile *profile, const struct hm_profile_site *site);

/*
 * Chooses the sites, of those that can be placed. `packer`, `capacity_bytes` and `has_arenas` are given; the rest is
 * filled in. Returns 0, or -1 with a text that begins with `path`: ENODATA where the profile has no
 * accesses to choose by; E2BIG; ENOMEM.
 */
int hm_guide_choose(const struct hm_profile *profile, const char *path, const struct hm_layout *layout,
                    struct hm_guide_choice *choice, struct hm_error *error);

#endif
