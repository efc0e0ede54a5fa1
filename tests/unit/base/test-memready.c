/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that memory which was made ready has its pages. mincore(2) says whether they are there. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memready.h"
#include "base/pagesize.h"

#define CHUNKS 16
#define STACK (1u << 20)
#define DEEP (60u << 10) /* bytes of stack to look at: the 64 KiB that are made ready, less what the calls take */

static bool is_watched; /* malloc gives new pages, and free checks that they are there */
static void *chunk[CHUNKS];
static size_t length[CHUNKS], freed_bytes;
static int n_trims;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);
int __wrap_malloc_trim(size_t pad);

static void *new_pages(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* The number of pages that are there, of those between both addresses. */
static size_t n_there(uintptr_t from, uintptr_t to, size_t *n_all)
{
    unsigned char there[STACK / 4096];
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
    from -= from % page;
    *n_all = (to - from + page - 1) / page;
    if (*n_all > sizeof(there) || mincore((void *)from, to - from, there) != 0)
        return 0;
    for (size_t i = 0; i < *n_all; i++)
        n += there[i] & 1;
    return n;
}

static bool is_there(const void *memory, size_t size)
{
    size_t n_all, n = n_there((uintptr_t)memory, (uintptr_t)memory + size, &n_all);
    return n == n_all;
}

void *__wrap_malloc(size_t size)
{
    for (int i = 0; is_watched && i < CHUNKS; i++)
        if (!chunk[i]) {
            length[i] = size;
            return chunk[i] = new_pages(size);
        }
    return __real_malloc(size);
}

void __wrap_free(void *memory)
{
    for (int i = 0; memory && i < CHUNKS; i++)
        if (chunk[i] == memory) {
            freed_bytes += is_there(memory, length[i]) ? length[i] : 0;
            munmap(memory, length[i]);
            chunk[i] = NULL;
            return;
        }
    __real_free(memory);
}

int __wrap_malloc_trim(size_t pad)
{
    n_trims++;
    return (int)pad;
}

static int n_held(void)
{
    int n = 0;
    for (int i = 0; i < CHUNKS; i++)
        n += chunk[i] != NULL;
    return n;
}

/* One more chunk is kept until hm_memready_end: without it, malloc would give the freed ones back to the kernel. */
static void test_heap_is_ready(void **state)
{
    (void)state;
    is_watched = true;
    hm_memready_begin();
    is_watched = false;
    assert_int_equal(freed_bytes, 576u << 10);
    assert_int_equal(n_held(), 1);
    assert_int_equal(n_trims, 0);
    hm_memready_end();
    assert_int_equal(n_held(), 0);
    assert_int_equal(n_trims, 1);
}

static size_t n_before, n_after, n_deep;

static void *make_ready(void *unused)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    (void)unused;
    n_before = n_there(here - DEEP, here, &n_deep);
    hm_memready_begin();
    n_after = n_there(here - DEEP, here, &n_deep);
    hm_memready_end();
    return NULL;
}

static void test_stack_is_ready(void **state)
{
    pthread_t thread;
    pthread_attr_t attributes;
    void *stack = new_pages(STACK);
    (void)state;
    assert_int_equal(madvise(stack, STACK, MADV_NOHUGEPAGE), 0); /* else one touch may make all pages */
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, make_ready, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(n_before < n_deep);
    assert_int_equal(n_after, n_deep);
    pthread_attr_destroy(&attributes);
    munmap(stack, STACK);
}

static void test_what_was_allocated_is_ready(void **state)
{
    const size_t page = hm_page_size(), size = 10 * page + 1;
    char *memory = new_pages(size);
    (void)state;
    memory[page] = 7;
    assert_false(is_there(memory, size));
    hm_memready_touch(memory, size);
    assert_true(is_there(memory, size));
    assert_int_equal(memory[page], 7);
    munmap(memory, size);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap_is_ready),
        cmocka_unit_test(test_stack_is_ready),
        cmocka_unit_test(test_what_was_allocated_is_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
