/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of an older build, for a program of today. */
#ifndef HM_SITES_COMMANDS_STALE_H
#define HM_SITES_COMMANDS_STALE_H

#include "sites/profile/profile.h"

struct hm_stale {
    size_t n_sites; /* places in the code that the profile has */
    size_t n_found; /* those of them that the program has, too */
};

/*
 * Gives the sites of a profile the ids that they have in the program at `path`, and with the libraries as they are now.
 * A site is found if each of its functions still has its name, its size and one place alone; the call is then where it
 * was in its function. One that is not found is left without memory, so that nobody chooses it. Returns 0, or -1
 * (ENOMEM).
 */
int hm_stale_translate(struct hm_profile *profile, const char *path, struct hm_stale *stale);

#endif
