/* SPDX-License-Identifier: Apache-2.0 */
/* The options of commands that choose sites: --fast and --packer. */
#ifndef HM_SITES_COMMANDS_CHOICE_H
#define HM_SITES_COMMANDS_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "sites/pack/pack.h"
#include "sites/profile/profile.h"

struct hm_sites_choice {
    bool has_fast;
    double percent; /* of the profile's peak; negative: `bytes` counts */
    uint64_t bytes;
    const struct hm_packer *packer;
};

/* For tables of words; `data` is a struct hm_sites_choice, or begins with one. */
int hm_sites_take_fast(void *data, const char *text, struct hm_error *error);
int hm_sites_take_packer(void *data, const char *text, struct hm_error *error);

/* The bytes that --fast means, at most HM_PACK_MOST. */
uint64_t hm_sites_capacity(const struct hm_sites_choice *choice, const struct hm_profile *profile);

#endif
