/* SPDX-License-Identifier: Apache-2.0 */
/* Puts profiles into the user's store. */
#ifndef HM_SITES_COMMANDS_KEEP_H
#define HM_SITES_COMMANDS_KEEP_H

#include <limits.h>

#include "sites/profile/profile.h"

/*
 * Keeps the profile of a build under this name. Where there is one, as of another task of the step, both are put
 * together, and `profile` has a part of that. There is none under the name while two are put together. The oldest
 * profiles of the build are removed. Returns 0, or -1 with a text: it is not kept, or one that was there and could not
 * be summed with it is not, whichever is of fewer processes.
 */
int hm_sites_keep(struct hm_profile *profile, const char *build_id, const char *name, struct hm_error *error);

/* Can it be kept, and where? What is missing of the folders is made. Nobody is waited for: a task starts afterwards.
 * Returns 0 with the path, or -1 with a text. */
int hm_sites_can_keep(const char *build_id, const char *name, char path[PATH_MAX], struct hm_error *error);

#endif
