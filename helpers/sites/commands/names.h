/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions and lines of the frames of sites, for people. They are looked up by addr2line, of elfutils or binutils,
 * in a process of its own, as debug information may be anybody's; only in objects that are the same build as those of
 * the profile.
 */
#ifndef HM_SITES_COMMANDS_NAMES_H
#define HM_SITES_COMMANDS_NAMES_H

#include "sites/profile/profile.h"

#define HM_SITES_NAMED 3 /* innermost frames of a site that are looked up; no more find room in a line */

struct hm_sites_name {
    struct hm_profile_frame frame;
    char *text; /* "main (a.c:12)", or "main"; NULL: not known */
};

struct hm_sites_names { /* in ascending order of the frames */
    size_t n;
    struct hm_sites_name *name;
};

/* Looks up the frames of all sites. What is not found, or not looked up, stays without a name. */
struct hm_sites_names hm_sites_names_find(const struct hm_profile *profile);
void hm_sites_names_free(struct hm_sites_names *names);

/* The name of a frame; NULL: not known. */
const char *hm_sites_name_of(const struct hm_sites_names *names, const struct hm_profile_frame *frame);
/* The order of frames, for qsort and bsearch of names. */
int hm_sites_name_compare(const void *a, const void *b);

#endif
