/* SPDX-License-Identifier: Apache-2.0 */
/* Tests functions that make JSON, when memory is short. Include it after cmocka.h. */
#ifndef UNIT_LIB_SHORTMEMORY_H
#define UNIT_LIB_SHORTMEMORY_H

#include <jansson.h>

/* Checks that `make` returns NULL whichever of jansson's allocations fails, and makes the same object again when none
 * fails any more. */
void check_short_memory(json_t *(*make)(const void *from), const void *from);

#endif
