/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The preload library's notes of this process's allocations, in the files that table.h describes. Nothing here calls
 * malloc. Where there is no recorder, or its folder cannot be used, nothing is noted.
 */
#ifndef HM_SITES_RECORD_NOTES_H
#define HM_SITES_RECORD_NOTES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"

extern _Thread_local bool hm_notes_are_inside; /* of the library, or of the next malloc */

/* Has this thread come from there? Then nothing is noted. Returns whether it had not; then hm_notes_leave has to
 * follow. */
static inline bool hm_notes_enter(void)
{
    if (hm_notes_are_inside)
        return false;
    hm_notes_are_inside = true;
    return true;
}

static inline void hm_notes_leave(void)
{
    hm_notes_are_inside = false;
}

extern atomic_int hm_notes_state;
enum { HM_NOTES_NOT_ASKED, HM_NOTES_OFF, HM_NOTES_ON };

/* Opens the files, once. Returns whether allocations are to be noted. */
bool hm_notes_begin(void);

/* Are allocations to be noted? Opens the files if that was not done yet. */
static inline bool hm_notes_are_on(void)
{
    int state = atomic_load_explicit(&hm_notes_state, memory_order_acquire);
    return state == HM_NOTES_ON || (state == HM_NOTES_NOT_ASKED && hm_notes_begin());
}

/* Allocations of fewer bytes are small. */
uint64_t hm_notes_least(void);
void hm_notes_add_small(size_t bytes);
void hm_notes_drop_small(size_t bytes);

/* Notes an allocation that is not small; `caller` is the return address of the function that the program has called,
 * `was_bytes` the size of what realloc has made it of; 0: it is new, or that was small. */
void hm_notes_add(const void *memory, size_t bytes, uint64_t was_bytes, const void *caller);
/* Notes its end. It may be unknown. Returns its bytes. */
uint64_t hm_notes_drop(const void *memory);

/* The same for mappings: the part that is unmapped may be any. `is_shared`: MAP_SHARED. */
void hm_notes_map(const void *memory, size_t bytes, bool is_shared, const void *caller);
void hm_notes_unmap(const void *memory, size_t bytes);

#define HM_NOTES_TAKEN 8

/* What was noted of a range that mremap is called for: no more than there is room for. */
struct hm_notes_taken {
    size_t n;
    struct hm_blocks_part part[HM_NOTES_TAKEN];
};

/* Before the call, takes out what is noted of the range: another thread may have its addresses before the call returns.
 * Then one of the two below has to follow. */
void hm_notes_take(const void *memory, size_t bytes, struct hm_notes_taken *taken);
/* It stays as it was. */
void hm_notes_put_back(const struct hm_notes_taken *taken);
/* What was mapped there is mapped elsewhere, or in another size, and stays its site's: so does its memory policy.
 * `stays`: the range is mapped as before, too (MREMAP_DONTUNMAP). */
void hm_notes_remap(const struct hm_notes_taken *taken, const void *moved, size_t new_bytes, bool stays);

/* The process ends: what it still has is counted as ended. The recorder would do that, too, but later, when the memory
 * of the next process is there already. */
void hm_notes_end(void);

#endif
