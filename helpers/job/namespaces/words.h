/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of hybridmem-namespace. Texts that are put in belong to the caller, and are not copied. */
#ifndef HM_JOB_NAMESPACES_WORDS_H
#define HM_JOB_NAMESPACES_WORDS_H

#include <stdint.h>

#include "core/config/config.h"

#define HM_NAMESPACEWORDS 32 /* more than any command has */
#define HM_NUMBER 24         /* of any number, as text */

struct hm_namespacewords {
    int n;
    const char *word[HM_NAMESPACEWORDS + 1]; /* NULL-terminated */
    char patience[HM_NUMBER], limit[HM_NUMBER], detach[HM_NUMBER];
};

/* In seconds. */
struct hm_namespacetimes {
    unsigned patience;                   /* at most */
    unsigned waits_beyond, wipes_beyond; /* what is left of fsdax_wipe_limit */
    unsigned detach;                     /* of the patience, at most half of it; 0: never */
};

/* The program's name, the command, and the configuration's file where it has one. */
void hm_namespacewords_begin(struct hm_namespacewords *words, const struct hm_config *config, const char *command);

/* A name and its value; nothing where that is "". */
void hm_namespacewords_add(struct hm_namespacewords *words, const char *name, const char *value);

/* How long it may wait, and wipe: with a fsdax_wipe_limit at least for a second, as 0 were no limit. */
void hm_namespacewords_add_times(struct hm_namespacewords *words, const struct hm_config *config,
                                 const struct hm_namespacetimes *times);

/* Returns `text`. */
const char *hm_namespacewords_number(char text[HM_NUMBER], uint64_t value);

#endif
