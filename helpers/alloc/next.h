/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next malloc behind a preload library that replaces malloc and its family: that of libc, or of a library like
 * jemalloc. The functions of a preload library can be called at any time: before constructors, in the loader, after
 * fork. So nothing here needs memory of malloc for its own work.
 */
#ifndef HM_ALLOC_NEXT_H
#define HM_ALLOC_NEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct hm_next {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    size_t (*malloc_usable_size)(void *);
    bool knows_sizes; /* malloc_usable_size is of the library that malloc is of, and so may be asked of its memory */
    atomic_bool is_found;
};

extern struct hm_next hm_next;
/* The file name of the preload library, for an error text; the library defines it. */
extern const char hm_next_library[];

/* Look up the next library's functions, once. Returns false only inside that look-up, where dlsym itself calls malloc:
 * then memory comes from the arena. Ends the program where there is no other malloc. */
bool hm_next_find(void);

/* Returns whether they are known; looks them up if need be (see hm_next_find). */
static inline bool hm_next_is_ready(void)
{
    return atomic_load_explicit(&hm_next.is_found, memory_order_acquire) || hm_next_find();
}

/* Memory from a small arena, zeroed and used once. NULL (ENOMEM) where it is used up. */
void *hm_arena_take(size_t bytes);
/* Was this memory taken from the arena? It is never freed. */
bool hm_arena_has(const void *memory);
/* The size that it was taken with. */
size_t hm_arena_bytes(const void *memory);

#endif
