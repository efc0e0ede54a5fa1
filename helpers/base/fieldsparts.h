/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that reading, writing and checking of fields share. Internal to fields.h. */
#ifndef HM_BASE_FIELDSPARTS_H
#define HM_BASE_FIELDSPARTS_H

#include "fields.h"

#define HM_FIELD_PATH 128 /* longest path, with the end mark */
#define HM_FIELDS_FIRST "hybridmem %s 1\n"
#define HM_FIELDS_LAST "end\n"

/* Is a list of this field's type written in one line? In other lists each place has lines of its own. */
bool hm_field_is_line(const struct hm_field *field);

/* How many places of the list may be in use in `value`, the structure that holds the list: as many as its count says,
 * but not more than the list has. Without a count, all. */
uint32_t hm_field_used(const struct hm_field *field, const void *value);
/* Is the place in use? In a list with a count, the places below the count are in use; in a list without a count, the
 * places that are not zero. */
bool hm_field_is_used(const struct hm_field *field, const void *value, uint32_t place);

/* The field that a path names. */
struct hm_field_spot {
    const struct hm_field *field; /* NULL: the table does not know it */
    size_t offset;                /* of the value, or of a list's first place */
    bool is_used;                 /* all list places on the path are in use */
};
/* The row that was found last at one depth of the tables. Texts have the rows' order, so the next search begins there.
 */
struct hm_field_mark {
    const struct hm_field *table, *row;
};
#define HM_FIELD_DEPTH 6 /* depths with a mark; below them searches begin at the table's start */

/* Find the field that `path` (`length` bytes) names in `value`. `marks` has HM_FIELD_DEPTH marks, 0 at first. */
void hm_field_follow(const struct hm_field *table, const void *value, const char *path, size_t length,
                     struct hm_field_mark *marks, struct hm_field_spot *spot);

#endif
