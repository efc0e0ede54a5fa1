/* SPDX-License-Identifier: Apache-2.0 */
/* The words of hybridmem.conf, as a table: where each may stand, how its value is read and written, and its field. */
#ifndef HM_CORE_CONFIG_VALUE_H
#define HM_CORE_CONFIG_VALUE_H

#include "config.h"

#define HM_CONFIGVALUE_TEXT 640 /* bytes for each value as text */

enum hm_section {
    HM_SECTION_TOP,
    HM_SECTION_TIER,
    HM_SECTION_CHANNELS,
    HM_SECTION_USER,
    HM_SECTION_GROUP,
    HM_SECTION_ACCOUNT,
    HM_SECTION_PARTITION,
    HM_SECTIONS
};

/* "tier", ... ; NULL for HM_SECTION_TOP. */
const char *hm_configvalue_section_name(enum hm_section section);

/* The n-th word that may stand in the section, NULL past the last. `*is_list` (NULL is allowed): it takes a list. */
const char *hm_configvalue_word(enum hm_section section, int n, bool *is_list);

/* All words and sections that may stand there, for error texts: "nodes, kind, ... or write_bandwidth". Returns `out`.
 */
char *hm_configvalue_words(enum hm_section section, char *out, size_t size);

/* Is the section one of the rules (user, group, account, partition)? */
bool hm_configvalue_is_rule(enum hm_section section);

/*
 * The index of the section's entry with this title in `config` (a tier, channels, or rule), made where it is new.
 * Returns it, or -1 with a text: the title is no good, or there are too many.
 */
int hm_configvalue_entry(struct hm_config *config, enum hm_section section, const char *title, struct hm_error *error);

/*
 * Set the field of `word` in the entry (ignored for HM_SECTION_TOP). A list's values come one by one, `is_first` with
 * the first. Returns 0, or -1 with a text that says what would be right.
 */
int hm_configvalue_set(struct hm_config *config, enum hm_section section, int entry, const char *word,
                       const char *value, bool is_first, struct hm_error *error);

/*
 * Write the value of `word` in the entry (ignored for HM_SECTION_TOP) as it may stand in the file: HM_CONFIGVALUE_TEXT
 * bytes are enough. Returns false where nothing was said, and nothing is built in.
 */
bool hm_configvalue_write(const struct hm_config *config, enum hm_section section, int entry, const char *word,
                          char *out, size_t size);

/* The entry's section has ended: does what it says go together? Returns 0, or -1 with a text. */
int hm_configvalue_finish(const struct hm_config *config, enum hm_section section, int entry, struct hm_error *error);

#endif
