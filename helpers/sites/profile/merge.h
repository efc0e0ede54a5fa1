/* SPDX-License-Identifier: Apache-2.0 */
/* Puts profiles of one program together: of its runs, inputs, ranks or nodes. Pure. */
#ifndef HM_SITES_MERGE_H
#define HM_SITES_MERGE_H

#include "profile.h"

/*
 * Adds `from` to `into`, as if one run had followed the other: counts, samples and times are summed, means are over
 * both times, peaks are the larger ones, also those of each part of the time. `from` stays as it is; its path is for
 * error texts. Returns 0, or -1 with a text (EINVAL: they cannot be put together, as they are of several builds, or
 * their figures have several units; ENOMEM). Where it fails, `into` may have a part of it.
 */
int hm_profile_merge(struct hm_profile *into, const struct hm_profile *from, const char *path, struct hm_error *error);

#endif
