/* SPDX-License-Identifier: Apache-2.0 */
/* What reading, writing and checking fields share. Internal to fields.h. */
#ifndef HM_BASE_FIELDSPARTS_H
#define HM_BASE_FIELDSPARTS_H

#include "fields.h"

#define HM_FIELD_PATH 128 /* longest path, with the end mark */
#define HM_FIELDS_FIRST "hybridmem %s 1\n"
#define HM_FIELDS_LAST "end\n"

/* Are all places of this list in one line? */
bool hm_field_is_line(const struct hm_field *field);

/* How many places of the list in `value`, the structure, are looked at: its count, or all. No more than there are. */
uint32_t hm_field_used(const struct hm_field *field, const void *value);
/* Is the place in use: below the count, or, without one, not zero? */
bool hm_field_is_used(const struct hm_field *field, const void *value, uint32_t place);

/* Where a path leads. */
struct hm_field_spot {
    const struct hm_field *field; /* NULL: the table does not know it */
    size_t offset;                /* of the value, or of a list's first place */
    bool is_used;                 /* all places on the way are */
};
/* Follow the path, which ends at `length`, in `value`. */
void hm_field_follow(const struct hm_field *table, const void *value, const char *path, size_t length,
                     struct hm_field_spot *spot);

#endif
