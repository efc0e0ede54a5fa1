/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhybridmem-preload.so: replaces malloc and its family in a program. Allocations that the rules send to the slow
 * tier come from hm_allocate. All others go to the next malloc: that of libc, or of a library like jemalloc. These
 * functions can be called at any time: before constructors, in the loader, after fork. So none of them needs memory of
 * malloc for its own work.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "allocate.h"
#include "base/pagesize.h"
#include "preload.h"

#define PUBLIC __attribute__((visibility("default")))
#define HUGE_PAGE ((size_t)2 << 20)
#define ARENA 65536
#define ALIGN 16
/* Blocks of an allocation, each on one node (hybridmem.h). There are few, as each block is a mapping (mappings.h).
 * There are up to twice as many where block_of rounds the size of a block down to huge pages. */
#define BLOCKS 8

/* The functions of the next library. */
static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    size_t (*malloc_usable_size)(void *);
} next;
static atomic_bool has_next;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hm_preload_rules rules;

/* Memory for the loader while it looks up the next library's functions: some versions of dlsym allocate. It is never
 * freed. */
static _Alignas(ALIGN) char arena[ARENA];
static atomic_size_t arena_used;

static void *take_from_arena(size_t bytes)
{
    size_t whole = (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN; /* with room for the size before it */
    size_t start = bytes <= ARENA ? atomic_fetch_add(&arena_used, whole) : ARENA;
    if (start >= ARENA || whole > ARENA - start) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(arena + start, &bytes, sizeof(bytes));
    return arena + start + ALIGN;
}

static bool is_of_arena(const void *memory)
{
    return (const char *)memory >= arena && (const char *)memory < arena + ARENA;
}

static size_t arena_bytes(const void *memory)
{
    size_t bytes;
    memcpy(&bytes, (const char *)memory - ALIGN, sizeof(bytes));
    return bytes;
}

/* dlsym returns functions as void *, as POSIX allows. */
#define FIND(name) (*(void **)(&next.name) = dlsym(RTLD_NEXT, #name))

/* Look up the next library's functions. Returns false only inside that look-up, where dlsym itself calls malloc. */
static bool is_ready(void)
{
    static _Thread_local bool is_looking;
    if (atomic_load_explicit(&has_next, memory_order_acquire))
        return true;
    if (is_looking)
        return false;
    int number = errno;
    is_looking = true;
    bool is_found = FIND(malloc) && FIND(calloc) && FIND(realloc) && FIND(free) && FIND(memalign) &&
                    FIND(aligned_alloc) && FIND(posix_memalign) && FIND(malloc_usable_size);
    is_looking = false;
    if (!is_found) {
        static const char text[] =
            "hybridmem: no other malloc was found: libhybridmem-preload.so cannot be used here\n";
        if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
            abort(); /* here too, because the compiler wants the result of write to be used */
        abort();
    }
    atomic_store_explicit(&has_next, true, memory_order_release);
    errno = number;
    return true;
}

static void read_rules(void)
{
    hm_preload_read(&rules);
}

/* The size of a block, in bytes: whole huge pages where possible, so that each node gets the same share. */
static size_t block_of(size_t bytes)
{
    size_t block = bytes / BLOCKS;
    return block < HUGE_PAGE ? block : block / HUGE_PAGE * HUGE_PAGE;
}

/*
 * Place an allocation. Returns NULL where the next library should serve it. `caller` is the return address of malloc.
 */
static void *place(size_t bytes, const void *caller)
{
    const struct hm_alloc_hint hint = {.block_bytes = block_of(bytes)};
    struct hm_preload_site site = {NULL, NULL, 0};
    char reason[HM_ALLOC_REASON];
    Dl_info info;
    if (bytes < HM_ALLOC_LEAST || bytes > HM_ALLOCATE_MOST)
        return NULL;
    int number = errno;
    void *memory = NULL;
    pthread_once(&once, read_rules);
    if (rules.n_callers > 0 && dladdr(caller, &info)) {
        site.function = info.dli_sname;
        site.module = info.dli_fname;
        site.offset = (uint64_t)((const char *)caller - (const char *)info.dli_fbase);
    }
    if (hm_preload_is_slow(&rules, bytes, &site))
        memory = hm_allocate(bytes, HM_ALLOC_SLOW, &hint, reason);
    errno = number;
    return memory;
}

/* Size of a placed allocation; 0 where `memory` is not one. Placed memory begins at a page, other memory seldom does.
 * So most calls for other memory do not take the lock. */
static size_t placed_bytes(const void *memory)
{
    return (uintptr_t)memory % hm_page_size() == 0 ? hm_allocated_bytes(memory) : 0;
}

static void *allocate(size_t bytes, const void *caller)
{
    if (!is_ready())
        return take_from_arena(bytes);
    void *memory = place(bytes, caller);
    return memory ? memory : next.malloc(bytes);
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
    if (!is_ready())
        return take_from_arena(all); /* the arena is static memory and used only once, so it is zeroed */
    void *memory = place(all, __builtin_return_address(0));
    return memory ? memory : next.calloc(count, bytes);
}

static void release(void *memory)
{
    int number = errno;
    if (!memory || is_of_arena(memory))
        return;
    if (((uintptr_t)memory % hm_page_size() != 0 || !hm_deallocate(memory)) && is_ready())
        next.free(memory);
    errno = number;
}

PUBLIC void free(void *memory)
{
    release(memory);
}

/* Move the content of an allocation to a new one of `bytes` bytes, and free the old one. Where no new one can be made,
 * the old one stays as it is, and NULL is returned. */
static void *move(void *memory, size_t old_bytes, size_t bytes, const void *caller)
{
    void *moved = allocate(bytes, caller);
    if (!moved)
        return NULL;
    memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    release(memory);
    return moved;
}

PUBLIC void *realloc(void *memory, size_t bytes)
{
    const void *caller = __builtin_return_address(0);
    if (!memory)
        return allocate(bytes, caller);
    if (is_of_arena(memory))
        return move(memory, arena_bytes(memory), bytes, caller);
    size_t placed = placed_bytes(memory);
    if (placed > 0 && bytes == 0) { /* as libc does */
        release(memory);
        return NULL;
    }
    if (placed > 0)
        return bytes <= placed && bytes >= placed / 2 ? memory : move(memory, placed, bytes, caller);
    if (!is_ready())
        return NULL;
    void *moved = place(bytes, caller);
    if (!moved)
        return next.realloc(memory, bytes);
    size_t old_bytes = next.malloc_usable_size(memory);
    memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    next.free(memory);
    return moved;
}

/* Does placed memory have this alignment? Placed memory is aligned to pages, and from the size of a huge page on to
 * huge pages. A valid alignment is a power of two. */
static bool is_aligned_by_us(size_t alignment, size_t bytes)
{
    return alignment <= hm_page_size() || (alignment <= HUGE_PAGE && bytes >= HUGE_PAGE);
}

static bool is_power_of_two(size_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

PUBLIC int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *placed = NULL;
    if (!is_ready())
        return ENOMEM;
    if (is_power_of_two(alignment) && alignment % sizeof(void *) == 0 && is_aligned_by_us(alignment, bytes))
        placed = place(bytes, __builtin_return_address(0));
    if (!placed)
        return next.posix_memalign(memory, alignment, bytes);
    *memory = placed;
    return 0;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *placed = NULL;
    if (!is_ready())
        return NULL;
    if (is_power_of_two(alignment) && is_aligned_by_us(alignment, bytes))
        placed = place(bytes, __builtin_return_address(0));
    return placed ? placed : next.aligned_alloc(alignment, bytes);
}

PUBLIC void *memalign(size_t alignment, size_t bytes)
{
    void *placed = NULL;
    if (!is_ready())
        return NULL;
    if (is_power_of_two(alignment) && is_aligned_by_us(alignment, bytes))
        placed = place(bytes, __builtin_return_address(0));
    return placed ? placed : next.memalign(alignment, bytes);
}

PUBLIC size_t malloc_usable_size(void *memory)
{
    if (!memory)
        return 0;
    if (is_of_arena(memory))
        return arena_bytes(memory);
    size_t placed = placed_bytes(memory);
    return placed > 0 ? placed : is_ready() ? next.malloc_usable_size(memory) : 0;
}
