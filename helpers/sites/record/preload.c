/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhybridmem-sites.so: replaces malloc and its family, and the functions of mappings, in a program that `hybridmem
 * sites run` watches. Memory comes from the next malloc as ever; notes.h notes it. C++ and Fortran allocate by malloc.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc/next.h"
#include "alloc/nextmaps.h"
#include "notes.h"
#include "stack.h"

#define PUBLIC __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

const char hm_next_library[] = "libhybridmem-sites.so";

/* So that the recorder knows of programs, too, which never call malloc. */
__attribute__((constructor)) static void begin(void)
{
    hm_notes_are_on();
}

__attribute__((destructor)) static void end(void)
{
    hm_notes_end();
}

PUBLIC void _exit(int status)
{
    hm_notes_end();
    for (;;)
        syscall(SYS_exit_group, status);
}

PUBLIC void _Exit(int status) __attribute__((alias("_exit")));

/* Begins to note what the next malloc does, where this is no call of its own. hm_notes_leave has to follow. */
static bool begin_note(void)
{
    return hm_notes_are_on() && hm_notes_enter();
}

/* The same for allocations, whose sizes the next library has to tell. */
static bool begin_block(void)
{
    return hm_next.knows_sizes && begin_note();
}

/* What is small is counted without a call that could set errno: to save it would take a sixth of the time. */
static void add(const void *memory, size_t bytes, uint64_t was_bytes, const void *caller)
{
    if (!memory)
        return;
    size_t usable = hm_next.malloc_usable_size((void *)(uintptr_t)memory);
    if (usable < hm_notes_least()) {
        hm_notes_add_small(usable);
        return;
    }
    int number = errno;
    hm_notes_add(memory, bytes, was_bytes, caller);
    errno = number;
}

/* `usable`: the size that the next malloc tells, while it still has the memory. Returns the bytes; 0: they were few. */
static uint64_t drop(const void *memory, size_t usable)
{
    if (!memory)
        return 0;
    if (usable < hm_notes_least()) {
        hm_notes_drop_small(usable);
        return 0;
    }
    int number = errno;
    uint64_t bytes = hm_notes_drop(memory);
    errno = number;
    return bytes;
}

/* What all functions do that allocate: CALL is the next one's. */
#define NOTED(call, bytes)                                                                                             \
    ({                                                                                                                 \
        bool is_noted = begin_block();                                                                                 \
        void *got = (call);                                                                                            \
        if (is_noted) {                                                                                                \
            add(got, (bytes), 0, CALLER);                                                                              \
            hm_notes_leave();                                                                                          \
        }                                                                                                              \
        got;                                                                                                           \
    })

PUBLIC void *malloc(size_t bytes)
{
    return hm_next_is_ready() ? NOTED(hm_next.malloc(bytes), bytes) : hm_arena_take(bytes);
}

PUBLIC void *calloc(size_t count, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return hm_next_is_ready() ? NOTED(hm_next.calloc(count, bytes), all) : hm_arena_take(all);
}

PUBLIC void *memalign(size_t alignment, size_t bytes)
{
    return hm_next_is_ready() ? NOTED(hm_next.memalign(alignment, bytes), bytes) : NULL;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t bytes)
{
    return hm_next_is_ready() ? NOTED(hm_next.aligned_alloc(alignment, bytes), bytes) : NULL;
}

PUBLIC int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    if (!hm_next_is_ready())
        return ENOMEM;
    bool is_noted = begin_block();
    int status = hm_next.posix_memalign(memory, alignment, bytes);
    if (is_noted) {
        add(status == 0 ? *memory : NULL, bytes, 0, CALLER);
        hm_notes_leave();
    }
    return status;
}

PUBLIC void free(void *memory)
{
    if (!memory || hm_arena_has(memory) || !hm_next_is_ready())
        return;
    bool is_noted = begin_block();
    if (is_noted)
        drop(memory, hm_next.malloc_usable_size(memory));
    hm_next.free(memory);
    if (is_noted)
        hm_notes_leave();
}

/* The note is taken back before the next malloc has the memory: another thread may get it at once. */
static void *noted_realloc(void *memory, size_t bytes, const void *caller)
{
    size_t usable = memory ? hm_next.malloc_usable_size(memory) : 0;
    uint64_t was_bytes = drop(memory, usable);
    void *moved = hm_next.realloc(memory, bytes);
    if (moved)
        add(moved, bytes, was_bytes, caller);
    else if (memory && bytes > 0)
        add(memory, usable, 0, caller);
    return moved;
}

PUBLIC void *realloc(void *memory, size_t bytes)
{
    void *moved;
    if (hm_arena_has(memory)) {
        moved = malloc(bytes);
        size_t old_bytes = hm_arena_bytes(memory);
        for (size_t i = 0; moved && i < bytes && i < old_bytes; i++)
            ((char *)moved)[i] = ((const char *)memory)[i];
        return moved;
    }
    if (!hm_next_is_ready())
        return memory ? NULL : hm_arena_take(bytes);
    if (!begin_block())
        return hm_next.realloc(memory, bytes);
    moved = noted_realloc(memory, bytes, CALLER);
    hm_notes_leave();
    return moved;
}

PUBLIC size_t malloc_usable_size(void *memory)
{
    if (!memory)
        return 0;
    if (hm_arena_has(memory))
        return hm_arena_bytes(memory);
    return hm_next_is_ready() ? hm_next.malloc_usable_size(memory) : 0;
}

/* ---------------------------------------------------------- mappings, and unloaded code */

static void note_mapping(const void *memory, size_t bytes, int flags, const void *caller)
{
    int number = errno;
    hm_notes_unmap(memory, bytes); /* what was there before, with MAP_FIXED */
    if ((flags & MAP_ANONYMOUS) && bytes >= hm_notes_least())
        hm_notes_map(memory, bytes, (flags & MAP_TYPE) != MAP_PRIVATE, caller);
    errno = number;
}

PUBLIC void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    bool is_noted = begin_note();
    void *memory = hm_next_mmap(address, bytes, protection, flags, fd, offset);
    if (is_noted && memory != MAP_FAILED)
        note_mapping(memory, bytes, flags, CALLER);
    if (is_noted)
        hm_notes_leave();
    return memory;
}

PUBLIC void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));

PUBLIC int munmap(void *address, size_t bytes)
{
    bool is_noted = begin_note();
    if (is_noted) {
        int number = errno;
        hm_notes_unmap(address, bytes);
        errno = number;
    }
    int status = hm_next_munmap(address, bytes);
    if (is_noted)
        hm_notes_leave();
    return status;
}

static void take(const void *memory, size_t bytes, struct hm_notes_taken *taken)
{
    int number = errno;
    hm_notes_take(memory, bytes, taken);
    errno = number;
}

PUBLIC void *mremap(void *address, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *wanted = flags & HM_NEXT_WANTED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    struct hm_notes_taken taken;
    bool is_noted = begin_note();
    if (is_noted)
        take(address, old_bytes, &taken);
    void *memory = hm_next_mremap(address, old_bytes, bytes, flags, wanted);
    int number = errno;
    if (is_noted && memory != MAP_FAILED)
        hm_notes_remap(&taken, memory, bytes, (flags & MREMAP_DONTUNMAP) != 0);
    else if (is_noted)
        hm_notes_put_back(&taken);
    errno = number;
    if (is_noted)
        hm_notes_leave();
    return memory;
}

PUBLIC int dlclose(void *handle)
{
    hm_stack_hold();
    int status = hm_next_dlclose(handle);
    hm_stack_forget();
    return status;
}
