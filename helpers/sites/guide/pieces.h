/* SPDX-License-Identifier: Apache-2.0 */
/* What a packer packs of a profile: its sites, or slices of them (profile/slices.h). Pure. */
#ifndef HM_SITES_GUIDE_PIECES_H
#define HM_SITES_GUIDE_PIECES_H

#include "sites/pack/pack.h"
#include "sites/profile/profile.h"
#include "table.h"

struct hm_guide_packing {
    const struct hm_profile *profile;
    const struct hm_packer *packer;
    struct hm_pack_scene scene; /* without what is of items */
    const double *value;        /* of each site, by which it is chosen; 0: it is not */
    const double *accesses;     /* of each site, by which the choice is measured */
};

/*
 * Packs the sites of a profile. A packer that may divide a site takes some of its slices, where these are known, and
 * the site is large enough for that to make a difference. Slices that are not touched are left out: the guide counts
 * what it places, whether it is touched or not, so they would take room that nothing needs. All of `result` is by site,
 * as is `slices`: the set of each site's slices that are taken. Both arrays are the caller's. What finds room is
 * reckoned with what small allocations take of the arenas; result->bytes are those of the profile. Returns 0, or -1
 * (ENOMEM).
 */
int hm_guide_pack(const struct hm_guide_packing *packing, struct hm_pack_result *result, uint32_t *slices);

/* The bytes at the site's peak of a set of its slices. Pure. */
uint64_t hm_guide_slices_bytes(const struct hm_profile_site *site, uint32_t slices);

#endif
