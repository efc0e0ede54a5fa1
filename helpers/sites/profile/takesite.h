/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a site of a profile from its JSON, as take.h has it. */
#ifndef HM_SITES_PROFILE_TAKESITE_H
#define HM_SITES_PROFILE_TAKESITE_H

#include "profile.h"
#include "take.h"

/* Takes a site, but for its bounds. The profile has `n_objects` objects. */
void hm_profile_take_site(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site, size_t n_objects);
/* Takes its bounds, where bytes were counted: those of samples follow from their number. */
void hm_profile_take_counted(struct hm_taker *taker, const json_t *from, struct hm_profile_site *site);

#endif
