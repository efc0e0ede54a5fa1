/* SPDX-License-Identifier: Apache-2.0 */
/* Lets each of jansson's allocations fail in turn (shortmemory.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "shortmemory.h"

static size_t n_allocated, failing; /* the number of allocations so far, and of the one that fails */

static void *allocate(size_t size)
{
    return ++n_allocated == failing ? NULL : malloc(size);
}

void check_short_memory(json_t *(*make)(const void *from), const void *from)
{
    json_t *whole = make(from), *made = NULL;
    assert_non_null(whole);
    json_set_alloc_funcs(allocate, free);
    for (failing = 1; !made; failing++) {
        n_allocated = 0;
        made = make(from);
        if (made && n_allocated >= failing)
            fail_msg("allocation %zu failed, and there is an object", failing);
    }
    json_set_alloc_funcs(malloc, free);
    assert_true(failing > 2); /* at least one has failed */
    assert_true(json_equal(made, whole));
    json_decref(made);
    json_decref(whole);
}
