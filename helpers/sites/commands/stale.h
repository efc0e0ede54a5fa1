/* SPDX-License-Identifier: Apache-2.0 */
/* A profile of an older build of a program, or of its libraries, for those of today. */
#ifndef HM_SITES_COMMANDS_STALE_H
#define HM_SITES_COMMANDS_STALE_H

#include "sites/profile/profile.h"

struct hm_stale {
    size_t n_sites; /* places in the code that the profile has; 0: all builds are those of the profile */
    size_t n_found; /* those of them that were found, or have an id that the compiler gave them */
};

/*
 * Gives the sites of a profile the ids that they have in the program at `path`, and with the libraries as they are now.
 * A site is found if each of its functions still has its name, its size and one place alone; the call is then where it
 * was in its function. One that is not found is left without memory, so that nobody chooses it. An id that the compiler
 * gave stays as it is, whether or not the program still has it. Returns 0, or -1 (ENOMEM).
 */
int hm_stale_translate(struct hm_profile *profile, const char *path, struct hm_stale *stale);

#endif
