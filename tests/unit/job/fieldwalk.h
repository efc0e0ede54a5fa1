/* SPDX-License-Identifier: Apache-2.0 */
/* Walks through all fields of a table of base/fields.h. A test that uses it covers fields that are added later, too. */
#ifndef FIELDWALK_H
#define FIELDWALK_H

#include "base/fields.h"

/* Called with each field that is no group, its path in the file ("change.0.path"), and the address of its value. */
typedef void field_visit(const struct hm_field *field, const char *path, void *value, void *data);

/* Visits the fields of `value`, with all elements of its lists, or with `is_first` the first of each list. Without
 * `is_first`, sets each list's count to the list's length, or above it where the count may exceed that. */
void field_walk(const struct hm_field *table, void *value, bool is_first, field_visit *visit, void *data);

/*
 * Fills all fields of `value` with valid values that depend on `seed`, and all lists completely. With `is_long`, texts
 * and sets of numbers are as long as possible, whatever the seed, except the path of a device.
 */
void field_fill(const struct hm_field *table, void *value, unsigned seed, bool is_long);

#endif
