/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between two profiles, of one program or of two builds of it. Pure. */
#ifndef HM_SITES_COMMANDS_COMPARE_H
#define HM_SITES_COMMANDS_COMPARE_H

#include <stdbool.h>

#include "names.h"
#include "sites/profile/profile.h"

struct hm_sites_side {
    const struct hm_profile *profile;
    const struct hm_sites_names *names;
};

struct hm_sites_pair {
    const struct hm_profile_site *old, *new; /* NULL: there is none on that side */
    bool has_other_peak;                     /* by more than one part in a hundred */
    bool has_other_share; /* of the samples: each is outside of the bounds that the other is in with 95 % confidence */
};

struct hm_sites_changes {
    size_t n;
    struct hm_sites_pair *pair;        /* all sites, once, those with the largest share on a side first; free() */
    double old_accesses, new_accesses; /* of the whole program */
    bool is_same_build;
    size_t by_name;       /* pairs of different builds that the names of functions tell */
    size_t without_names; /* sites of one side, of different builds, that no name tells, or one that others have, too */
};

/* Returns 0, or -1 (ENOMEM). */
int hm_sites_compare(const struct hm_sites_side *old, const struct hm_sites_side *new,
                     struct hm_sites_changes *changes);

/* The share of all accesses that a site has, 0..1; NaN: not known, or no site. */
double hm_sites_share(double all, const struct hm_profile_site *site);

#endif
