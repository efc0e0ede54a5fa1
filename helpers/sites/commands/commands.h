/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of `hybridmem sites`. Each takes its words with its own name first, and returns the exit status. */
#ifndef HM_SITES_COMMANDS_H
#define HM_SITES_COMMANDS_H

#include <stddef.h>

#include "base/newfile.h"
#include "base/words.h"
#include "core/config/config.h"
#include "names.h"
#include "sites/profile/profile.h"

enum {
    HM_SITES_FAILED = 1, /* the profile says no, or output was lost */
    HM_SITES_BAD = HM_WORDS_BAD,
};

int hm_sites_run(int argc, char **argv);
int hm_sites_show(int argc, char **argv);
int hm_sites_plan(int argc, char **argv);
int hm_sites_guide(int argc, char **argv);
int hm_sites_diff(int argc, char **argv);
int hm_sites_merge(int argc, char **argv);
int hm_sites_check(int argc, char **argv);
int hm_sites_list(int argc, char **argv);
int hm_sites_record(int argc, char **argv);

/* The one word after the options: the profile's path, read. NULL: `status` is the exit status, and a line says why. */
struct hm_profile *hm_sites_open(int argc, char **argv, const struct hm_words *words, int *status);

/* The folder of the profiles that the site shares, by the configuration; "": there is none. Returns 0, or -1 with a
 * text. */
int hm_sites_shared(char folder[HM_CONFIG_PATH_MAX], struct hm_error *error);

/* Writes the profile into the file. Returns 0, or -1 with a text. */
int hm_sites_put(const struct hm_profile *profile, struct hm_newfile *file, struct hm_error *error);
/* The same, and puts it in its place. */
int hm_sites_write(const struct hm_profile *profile, struct hm_newfile *file, struct hm_error *error);

/*
 * Where a site is, for people: "f (a.c:12) < libm.so+0x10", innermost first, as far as it fits; or "all of up to 64 B".
 * Printable ASCII. `names` may be NULL. Returns `out`.
 */
char *hm_sites_where(const struct hm_profile *profile, const struct hm_sites_names *names,
                     const struct hm_profile_site *site, char *out, size_t size);

/* The kind of input that a profile names, for people: printable ASCII, cut where it is longer; "": none. Returns `out`.
 */
#define HM_SITES_INPUT 64
char *hm_sites_input(const struct hm_profile *profile, char out[HM_SITES_INPUT]);

/* The sites by their indices, those with most accesses first, then the largest. The caller frees the list; NULL: no
 * memory. */
size_t *hm_sites_sort(const struct hm_profile *profile);

#endif
