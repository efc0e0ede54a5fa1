/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the values of hybridmem.conf, with two functions for each kind of value. A word's row in the table
 * (value.c) gives its range and its field. */
#ifndef HM_CORE_CONFIG_FIELD_H
#define HM_CORE_CONFIG_FIELD_H

#include "value.h"

struct hm_configfield;

struct hm_configfield_kind {
    /*
     * Read `value` into the field at `field`. A list's values come one by one; `is_first` is true for the first.
     * Returns 0, or -1 (EINVAL, ERANGE, ENOTSUP) with a text that says what is wrong.
     */
    int (*read)(const struct hm_configfield *row, void *field, const char *value, bool is_first,
                struct hm_error *error);
    /* Write the field's value as it may stand in the file. Returns false where the field has none. */
    bool (*write)(const struct hm_configfield *row, const void *field, char *out, size_t size);
};

struct hm_configfield {
    enum hm_section section;
    const char *word;
    const struct hm_configfield_kind *kind;
    size_t offset;              /* offset of the field in hm_config, or in the section's entry */
    uint64_t least, most;       /* numbers and times: their range; texts: `most` is the size of the field */
    const char *const *choices; /* words of an enum, the first for the value `least`; amounts: the unit */
};

/* Words, names and lists (fieldwords.c); hm_field_modes takes a list. */
extern const struct hm_configfield_kind hm_field_choice, hm_field_yes_no, hm_field_name, hm_field_text, hm_field_folder,
    hm_field_modes, hm_field_request, hm_field_migrate, hm_field_nodes;

/* Numbers with and without a unit (fieldnumbers.c). */
extern const struct hm_configfield_kind hm_field_milliseconds, hm_field_seconds, hm_field_percent, hm_field_amount,
    hm_field_number, hm_field_size;

#endif
