/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the words of hybridmem.conf: the section that each may stand in, how its value is read, and the field
 * that it sets. */
#ifndef HM_CORE_CONFIG_VALUE_H
#define HM_CORE_CONFIG_VALUE_H

#include "config.h"

#define HM_CONFIGVALUE_TEXT 640 /* bytes for each value as text */

enum hm_section {
    HM_SECTION_TOP,
    HM_SECTION_TIER,
    HM_SECTION_CHANNELS,
    HM_SECTION_REDFISH,
    HM_SECTION_BOARD,
    HM_SECTION_USER,
    HM_SECTION_GROUP,
    HM_SECTION_ACCOUNT,
    HM_SECTION_PARTITION,
    HM_SECTION_QOS,
    HM_SECTIONS
};

/* The name of a section: "tier" and so on; NULL for HM_SECTION_TOP. */
const char *hm_configvalue_section_name(enum hm_section section);

/* The n-th word of the section; NULL past the last. `*is_list` becomes true where the word takes a list; `is_list` may
 * be NULL. */
const char *hm_configvalue_word(enum hm_section section, int n, bool *is_list);

/* List all words and sections that may stand in a section, for error texts: "nodes, kind, ... or write_energy".
 * Returns `out`. */
char *hm_configvalue_words(enum hm_section section, char *out, size_t size);

/* Is the section a rule (user, group, account, partition, qos)? */
bool hm_configvalue_is_rule(enum hm_section section);

/* Find or make the entry of `config` (a tier, channels, redfish, board, or rule) for a section with this title. Returns
 * its index (0 for HM_SECTION_TOP), or -1 with a text where the title is wrong, there are too many, or other channels
 * have the same two tiers in the other order. */
int hm_configvalue_entry(struct hm_config *config, enum hm_section section, const char *title, struct hm_error *error);

/* Read `value` into the field of `word` in the entry (`entry` is ignored for HM_SECTION_TOP). The values of a list come
 * one by one; `is_first` is true for the first. Returns 0, or -1 with a text that says what would be right. */
int hm_configvalue_set(struct hm_config *config, enum hm_section section, int entry, const char *word,
                       const char *value, bool is_first, struct hm_error *error);

/*
 * Write the value of `word` in the entry (`entry` is ignored for HM_SECTION_TOP) as it may stand in the file:
 * HM_CONFIGVALUE_TEXT bytes are enough. Returns false where the word has neither a given nor a built-in value.
 */
bool hm_configvalue_write(const struct hm_config *config, enum hm_section section, int entry, const char *word,
                          char *out, size_t size);

/* The section has ended: do its words go together? Returns 0, or -1 with a text. */
int hm_configvalue_finish(const struct hm_config *config, enum hm_section section, int entry, struct hm_error *error);

#endif
