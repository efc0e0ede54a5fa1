/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a realloc counts what it has of the fast tier where it was taken, also if its caller has another limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "alloc/preloadresize.h"
#include "alloc/resize.h"

#define BYTES ((size_t)1 << 20)
#define GROWN (BYTES * 2)

static size_t counted[2]; /* of the fast tier: all, and those of marked allocations */
static struct hm_allocated block;
static bool is_refused, is_other_marked;

static void count(bool is_marked, size_t less, size_t more)
{
    counted[0] += more - less;
    if (is_marked)
        counted[1] += more - less;
}

/* ---------------------------------------------------------- in place of the library */

bool hm_preload_choose(size_t bytes, struct hm_preload_where where, struct hm_preload_choice *choice)
{
    (void)where;
    *choice = (struct hm_preload_choice){.policy = HM_ALLOC_FAST, .fast_bytes = bytes, .is_marked = is_other_marked};
    count(is_other_marked, 0, bytes);
    return true;
}

void hm_preload_count(bool is_marked, size_t counted_bytes, size_t now_bytes)
{
    count(is_marked, counted_bytes, now_bytes);
}

void *hm_resize(void *memory, size_t bytes, const struct hm_resize *wish)
{
    (void)wish;
    if (is_refused)
        return NULL;
    block.bytes = block.fast_bytes = bytes;
    return memory;
}

struct hm_allocated hm_allocated(const void *memory)
{
    (void)memory;
    return block;
}

/* ---------------------------------------------------------- tests */

static void test_counts(void **state)
{
    static char memory[1];
    (void)state;
    for (int i = 0; i < 16; i++) {
        enum hm_preload_how how = i & 1 ? HM_PRELOAD_ANEW : HM_PRELOAD_STAYS;
        is_refused = i & 2;
        is_other_marked = i & 4;
        block = (struct hm_allocated){BYTES, BYTES, i & 8};
        memset(counted, 0, sizeof(counted));
        count(block.is_marked, 0, block.fast_bytes);
        const struct hm_allocated was = block;
        hm_preload_resize(memory, &was, GROWN, how, (struct hm_preload_where){0});
        assert_int_equal(block.fast_bytes, is_refused ? BYTES : GROWN);
        assert_int_equal(counted[0], block.fast_bytes);
        assert_int_equal(counted[1], block.is_marked ? block.fast_bytes : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
