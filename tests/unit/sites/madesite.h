/* SPDX-License-Identifier: Apache-2.0 */
/* A site of a profile that a test makes. */
#ifndef MADESITE_H
#define MADESITE_H

#include "sites/profile/profile.h"

/* A site with one allocation of these bytes, which stays for the 10 s of the run and is read so often. */
static inline struct hm_profile_site made_site(uint64_t id, uint64_t bytes, double reads)
{
    return (struct hm_profile_site){
        .id = id, .allocations = 1, .peak_bytes = bytes, .mean_bytes = (double)bytes, .lifetime_s = 10, .reads = reads};
}

#endif
