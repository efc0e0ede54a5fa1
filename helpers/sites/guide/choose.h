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
    uint64_t fast_bytes;     /* of the chosen sites at their peaks */
    double expected_share;   /* of the program's accesses that the fast tier would serve, 0..1 */
    struct hm_guide_table table;
};

/*
 * Chooses the sites. `packer` and `capacity_bytes` are given; the rest is filled in. Returns 0, or -1 with a text that
 * begins with `path`: ENODATA where the profile has no accesses to choose by; E2BIG; ENOMEM.
 */
int hm_guide_choose(const struct hm_profile *profile, const char *path, const struct hm_layout *layout,
                    struct hm_guide_choice *choice, struct hm_error *error);

#endif
