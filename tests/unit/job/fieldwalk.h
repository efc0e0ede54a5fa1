/* SPDX-License-Identifier: Apache-2.0 */
/* All fields of a table, one by one: a test that walks them covers those that are added later, too. */
#ifndef FIELDWALK_H
#define FIELDWALK_H

#include "base/fields.h"

/* Called with each field that is no group, its path in the text, and where the value is in the structure. */
typedef void field_visit(const struct hm_field *field, const char *path, void *value, void *data);

/* Visit the fields of `value`, all places of all lists, or (`is_first`) the first of each. */
void field_walk(const struct hm_field *table, void *value, bool is_first, field_visit *visit, void *data);

/* Fill all fields of `value` with what they may have, different for each `seed`; lists are full. With `is_long` texts
 * and sets are as long as can be. */
void field_fill(const struct hm_field *table, void *value, unsigned seed, bool is_long);

#endif
