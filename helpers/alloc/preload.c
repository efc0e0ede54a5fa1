/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces malloc and its family in a program, for a preload library. Allocations for which hm_preload_choose has a
 * tier come from hm_allocate. All others go to the next malloc: that of libc, or of a library like jemalloc. These
 * functions can be called at any time: before constructors, in the loader, after fork. So none of them needs memory of
 * malloc for its own work.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "allocate.h"
#include "base/pagesize.h"
#include "next.h"
#include "preload.h"
#include "preloadresize.h"
#include "small.h"

#define PUBLIC __attribute__((visibility("default")))

static void *take_large(size_t alignment, size_t bytes, bool is_zeroed, const struct hm_preload_choice *choice)
{
    char reason[HM_ALLOC_REASON];
    const struct hm_place_slices fast = {choice->fast_slices, choice->fast_bytes};
    const struct hm_alloc_hint hint = hm_preload_hint(bytes, choice);
    void *memory = hm_allocate_kept(bytes, choice->spare_bytes, alignment, choice->policy);
    if (memory && is_zeroed)
        memset(memory, 0, bytes);
    return memory ? memory : hm_allocate(bytes, alignment, choice->policy, &hint, &fast, reason);
}

static void *place_large(size_t alignment, size_t bytes, bool is_zeroed, struct hm_preload_where where)
{
    struct hm_preload_choice choice;
    if (bytes > HM_ALLOCATE_MOST || !hm_preload_choose(bytes, where, &choice))
        return NULL;
    void *memory = take_large(alignment, bytes, is_zeroed, &choice);
    if (choice.fast_bytes == 0)
        return memory;
    if (choice.is_marked && memory)
        hm_allocated_mark(memory);
    hm_preload_count(choice.is_marked, choice.fast_bytes, memory ? hm_allocated(memory).fast_bytes : 0);
    return memory;
}

/* Where an allocation is to be. One of no bytes is left to the next library, as others mean different things by it; so
 * are all where realloc could not ask how much there is to be moved. `caller` is the return address of malloc. */
static struct hm_preload_where ask(size_t bytes, const void *caller)
{
    struct hm_preload_where where = {0};
    int number = errno;
    if (bytes > 0 && hm_next_is_ready() && hm_next.knows_sizes)
        where = hm_preload_where(bytes, caller);
    errno = number;
    return where;
}

/* Place an allocation. Returns NULL where the next library should serve it. */
static void *place_there(size_t alignment, size_t bytes, bool is_zeroed, struct hm_preload_where where)
{
    int number = errno;
    void *memory = bytes < HM_ALLOC_LEAST ? hm_small_take(alignment, bytes, is_zeroed, where)
                                          : place_large(alignment, bytes, is_zeroed, where);
    errno = number;
    return memory;
}

static void *place(size_t alignment, size_t bytes, bool is_zeroed, const void *caller)
{
    return place_there(alignment, bytes, is_zeroed, ask(bytes, caller));
}

/* Size of a placed allocation; 0 where `memory` is not one. Large placed memory begins at a page, other memory seldom
 * does. So most calls for other memory do not take the lock. */
static size_t placed_bytes(const void *memory)
{
    if (hm_small_has(memory))
        return hm_small_bytes(memory);
    return (uintptr_t)memory % hm_page_size() == 0 ? hm_allocated(memory).bytes : 0;
}

static void *allocate_there(size_t bytes, struct hm_preload_where where)
{
    if (!hm_next_is_ready())
        return hm_arena_take(bytes);
    void *memory = place_there(1, bytes, false, where);
    return memory ? memory : hm_next.malloc(bytes);
}

static void *allocate(size_t bytes, const void *caller)
{
    return allocate_there(bytes, ask(bytes, caller));
}

PUBLIC void *malloc(size_t bytes)
{
    return allocate(bytes, __builtin_return_address(0));
}

PUBLIC void *calloc(size_t count, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    if (!hm_next_is_ready())
        return hm_arena_take(all); /* the arena is static memory and used only once, so it is zeroed */
    void *memory = place(1, all, true, __builtin_return_address(0));
    return memory ? memory : hm_next.calloc(count, bytes);
}

/* Frees large placed memory. False: it is none. */
static bool release_large(void *memory)
{
    struct hm_allocated was;
    if ((uintptr_t)memory % hm_page_size() != 0 || !hm_deallocate_to_keep(memory, &was))
        return false;
    if (was.fast_bytes > 0)
        hm_preload_count(was.is_marked, was.fast_bytes, 0);
    return true;
}

static void release(void *memory)
{
    int number = errno;
    if (!memory || hm_arena_has(memory))
        return;
    if (!hm_small_give(memory) && !release_large(memory) && hm_next_is_ready())
        hm_next.free(memory);
    errno = number;
}

PUBLIC void free(void *memory)
{
    release(memory);
}

/* What is known of large placed memory. Other memory has no need of the lock. */
static struct hm_allocated look(const void *memory)
{
    bool is_other = hm_arena_has(memory) || hm_small_has(memory);
    return is_other ? (struct hm_allocated){0} : hm_allocated(memory);
}

/* Move the content of an allocation to a new one of `bytes` bytes, and free the old one. Where no new one can be made,
 * the old one stays as it is, and NULL is returned. The old one leaves its part of the fast tier to the new one. */
static void *move(void *memory, size_t old_bytes, size_t bytes, struct hm_preload_where where)
{
    struct hm_allocated was = look(memory);
    hm_preload_count(was.is_marked, was.fast_bytes, 0);
    void *moved = allocate_there(bytes, where);
    hm_preload_count(was.is_marked, 0, was.fast_bytes);
    if (!moved)
        return NULL;
    hm_preload_copy_out(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    release(memory);
    return moved;
}

/* realloc of small placed memory. Where no other can be made, it stays if it is large enough. */
static void *reallocate_small(void *memory, size_t placed, size_t bytes, struct hm_preload_where where)
{
    bool fits = bytes <= placed;
    if (fits && bytes >= placed / 2 && hm_small_stays(memory, where))
        return memory;
    void *moved = move(memory, placed, bytes, where);
    return moved || !fits ? moved : memory;
}

/* realloc of large placed memory. It is in the wrong place rather than that there is none. */
static void *reallocate(void *memory, size_t bytes, struct hm_preload_where where)
{
    struct hm_allocated was = look(memory);
    bool is_small = bytes < HM_ALLOC_LEAST && bytes < was.bytes / 2;
    enum hm_preload_how how = is_small ? HM_PRELOAD_MOVES : hm_preload_resized(&was, bytes, where);
    void *resized = how == HM_PRELOAD_MOVES ? NULL : hm_preload_resize(memory, &was, bytes, how, where);
    if (!resized && how == HM_PRELOAD_STAYS && bytes <= was.bytes)
        return memory;
    if (!resized)
        resized = move(memory, was.bytes, bytes, where);
    if (!resized)
        resized = hm_preload_resize(memory, &was, bytes, HM_PRELOAD_STAYS, where);
    return resized || bytes > was.bytes ? resized : memory;
}

PUBLIC void *realloc(void *memory, size_t bytes)
{
    const void *caller = __builtin_return_address(0);
    if (!memory)
        return allocate(bytes, caller);
    if (hm_arena_has(memory))
        return move(memory, hm_arena_bytes(memory), bytes, ask(bytes, caller));
    size_t placed = placed_bytes(memory);
    if (placed > 0 && bytes == 0) { /* as libc does */
        release(memory);
        return NULL;
    }
    if (placed > 0)
        return hm_small_has(memory) ? reallocate_small(memory, placed, bytes, ask(bytes, caller))
                                    : reallocate(memory, bytes, ask(bytes, caller));
    if (!hm_next_is_ready())
        return NULL;
    void *moved = place(1, bytes, false, caller);
    if (!moved)
        return hm_next.realloc(memory, bytes);
    size_t old_bytes = hm_next.malloc_usable_size(memory);
    hm_preload_copy_out(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    hm_next.free(memory);
    return moved;
}

/* Is the alignment a valid one? */
static bool is_power_of_two(size_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

PUBLIC int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *placed = NULL;
    if (!hm_next_is_ready())
        return ENOMEM;
    if (is_power_of_two(alignment) && alignment % sizeof(void *) == 0)
        placed = place(alignment, bytes, false, __builtin_return_address(0));
    if (!placed)
        return hm_next.posix_memalign(memory, alignment, bytes);
    *memory = placed;
    return 0;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *placed = NULL;
    if (!hm_next_is_ready())
        return NULL;
    if (is_power_of_two(alignment))
        placed = place(alignment, bytes, false, __builtin_return_address(0));
    return placed ? placed : hm_next.aligned_alloc(alignment, bytes);
}

PUBLIC void *memalign(size_t alignment, size_t bytes)
{
    void *placed = NULL;
    if (!hm_next_is_ready())
        return NULL;
    if (is_power_of_two(alignment))
        placed = place(alignment, bytes, false, __builtin_return_address(0));
    return placed ? placed : hm_next.memalign(alignment, bytes);
}

PUBLIC size_t malloc_usable_size(void *memory)
{
    if (!memory)
        return 0;
    if (hm_arena_has(memory))
        return hm_arena_bytes(memory);
    size_t placed = placed_bytes(memory);
    return placed > 0 ? placed : hm_next_is_ready() ? hm_next.malloc_usable_size(memory) : 0;
}
