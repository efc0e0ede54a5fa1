/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library with the functions that glibc's manual asks a malloc to have, and no malloc_usable_size. Before each block
 * is what libc's malloc_usable_size would take for the size of a chunk far beyond all memory.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM ((size_t)64 << 20)

struct head {
    size_t bytes, trap;
};

void *malloc(size_t bytes)
{
    static char *next, *end;
    size_t whole = sizeof(struct head) + (bytes + 15) / 16 * 16;
    if (!next) {
        next = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        end = next + ROOM;
    }
    if (whole > (size_t)(end - next))
        return NULL;
    struct head *head = (struct head *)(void *)next;
    next += whole;
    *head = (struct head){bytes, (size_t)0x7ff0123456789abc};
    return head + 1;
}

void free(void *memory)
{
    (void)memory;
}

void *calloc(size_t count, size_t bytes)
{
    size_t all;
    return __builtin_mul_overflow(count, bytes, &all) ? NULL : malloc(all);
}

void *realloc(void *memory, size_t bytes)
{
    void *moved = malloc(bytes);
    if (memory && moved) {
        size_t old_bytes = ((struct head *)memory)[-1].bytes;
        memcpy(moved, memory, old_bytes < bytes ? old_bytes : bytes);
    }
    return moved;
}
