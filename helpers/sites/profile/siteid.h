/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The id of a site: a hash of its return addresses, as (object, offset), that is the same in each run. An object is its
 * build-id or, where it has none, its name. The preload libraries make ids, and whoever translates a profile to another
 * build. Calls no malloc. Pure.
 */
#ifndef HM_SITES_SITEID_H
#define HM_SITES_SITEID_H

#include <stddef.h>
#include <stdint.h>

#include "buildid.h"

/* A return address. */
struct hm_siteid_frame {
    const char *path; /* of the object; NULL: it is in none */
    uint64_t offset;
    unsigned char id[HM_BUILDID_MOST];
    size_t id_length; /* 0: it has none */
};

uint64_t hm_siteid_mix(uint64_t hash, uint64_t value);

/* The id of a site by its frames, innermost first. It is not 0. */
uint64_t hm_siteid(const struct hm_siteid_frame *frame, unsigned n);

#endif
