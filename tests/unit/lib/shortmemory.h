/* SPDX-License-Identifier: Apache-2.0 */
/* Tests makers of JSON with memory that is short. Include it after cmocka.h. */
#ifndef UNIT_LIB_SHORTMEMORY_H
#define UNIT_LIB_SHORTMEMORY_H

#include <jansson.h>

/* Checks that `make` returns NULL whichever of jansson's allocations fails, and the same object without a failure. */
void check_short_memory(json_t *(*make)(const void *from), const void *from);

#endif
