/* SPDX-License-Identifier: Apache-2.0 */
/* Builds command lines of hybridmem-namespace. Texts that are added belong to the caller, and are not copied. */
#ifndef HM_JOB_NAMESPACES_WORDS_H
#define HM_JOB_NAMESPACES_WORDS_H

#include <stdint.h>

#include "core/config/config.h"

#define HM_NAMESPACEWORDS 32 /* more than any command has */
#define HM_NUMBER 24         /* bytes of any number as text */

struct hm_namespacewords {
    int n;
    const char *word[HM_NAMESPACEWORDS + 1]; /* NULL-terminated */
    char patience[HM_NUMBER], limit[HM_NUMBER], detach[HM_NUMBER];
};

/* Times for one command, in seconds. */
struct hm_namespacetimes {
    /* longest wait; shortened to what is left of fsdax_wipe_limit, plus `waits_beyond`, if that is less */
    unsigned patience;
    /* added to what is left of fsdax_wipe_limit: for a wait (--patience), and for a wipe (--limit) */
    unsigned waits_beyond, wipes_beyond;
    /* when mounts that are still in use are detached, at the latest after half of the patience; 0: never */
    unsigned detach;
};

/* Begins with the program's name, the command, and --config if the configuration was read from a file. */
void hm_namespacewords_begin(struct hm_namespacewords *words, const struct hm_config *config, const char *command);

/* Adds an option and its value; nothing if the value is "". */
void hm_namespacewords_add(struct hm_namespacewords *words, const char *name, const char *value);

/*
 * Adds --patience, --limit if fsdax_wipe_limit is set (at least 1 s, as hybridmem-namespace refuses 0), and --detach if
 * `times` has one.
 */
void hm_namespacewords_add_times(struct hm_namespacewords *words, const struct hm_config *config,
                                 const struct hm_namespacetimes *times);

/* Writes the number into `text`, and returns `text`. */
const char *hm_namespacewords_number(char text[HM_NUMBER], uint64_t value);

#endif
