/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store of profiles: FOLDER/BUILD-ID/NAME.json, by the build of the program. A user has one,
 * $XDG_DATA_HOME/hybridmem/profiles, and a site may have one that it shares, which is only read.
 */
#ifndef HM_SITES_STORE_H
#define HM_SITES_STORE_H

#include <limits.h>
#include <time.h>

#include "base/error.h"

#define HM_STORE_KEPT 8 /* profiles of a build that a user's store keeps: the newest */

/* The user's store, by XDG_DATA_HOME, HOME or the user's entry. It need not exist. Returns 0, or -1 with a text
 * (ENOENT; ENAMETOOLONG).
 */
int hm_store_own(char folder[PATH_MAX], struct hm_error *error);

/*
 * The newest profile of a build: the user's own, or where there is none the shared store's. One of the kind of input
 * `input` goes first, also a shared one before the user's own of another; NULL: any is as good. `shared` is a folder;
 * "": there is none. Returns 0, or -1 with a text that says where none was found (ENOENT).
 */
int hm_store_find(const char *shared, const char *build_id, const char *input, char path[PATH_MAX],
                  struct hm_error *error);

/* Makes the folder of a build in the user's store. Returns 0 with its path, or -1 with a text: EPERM for root, which
 * writes into no store. */
int hm_store_make(const char *build_id, char folder[PATH_MAX], struct hm_error *error);

/*
 * Makes it, too, and takes its lock, which the recorders of all of a step's tasks take before they change a profile
 * there. Returns a descriptor of the lock, for hm_flock_close, or -1 with a text.
 */
int hm_store_lock(const char *build_id, char folder[PATH_MAX], struct hm_error *error);

/* Removes the oldest profiles of a build, so that HM_STORE_KEPT stay; first those of which there is a newer one of the
 * same input. Removes what recorders that were killed have left, too. */
void hm_store_trim(const char *folder);

struct hm_store_entry {
    char path[PATH_MAX];
    struct timespec changed;
};

/* Compares two entries, for qsort: the newer one first; of two of the same time, by path. */
int hm_store_newest_first(const void *a, const void *b);

/* All profiles of a store, by build, the newest first. Returns how many there are, and the list in *entries, to be
 * freed; or -1 with a text. A store that does not exist is empty. */
int hm_store_list(const char *folder, struct hm_store_entry **entries, struct hm_error *error);

#endif
