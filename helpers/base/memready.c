/* SPDX-License-Identifier: Apache-2.0 */
#include "memready.h"

#include <malloc.h>
#include <stdlib.h>

#define CHUNK (96u << 10) /* below malloc's mmap threshold: free() unmaps a chunk above it at once */
#define CHUNKS 6
#define STACK (64u << 10)
#define PAGE 4096 /* the smallest size of a page */

void hm_memready_touch(void *memory, size_t bytes)
{
    volatile char *byte = memory;
    for (size_t at = 0; at < bytes; at += PAGE)
        byte[at] = byte[at];
    if (bytes > 0)
        byte[bytes - 1] = byte[bytes - 1];
}

static __attribute__((noinline)) void touch_stack(void)
{
    char space[STACK];
    space[0] = 0;
    hm_memready_touch(space, sizeof(space));
}

/* The chunk above those that are ready: it keeps them from being given back to the kernel when they are freed. */
static _Thread_local void *last;

void hm_memready_begin(void)
{
    void *chunk[CHUNKS];
    touch_stack();
    for (int i = 0; i < CHUNKS; i++) {
        chunk[i] = malloc(CHUNK);
        if (chunk[i])
            hm_memready_touch(chunk[i], CHUNK);
    }
    last = malloc(CHUNK);
    for (int i = 0; i < CHUNKS; i++)
        free(chunk[i]);
}

void hm_memready_end(void)
{
    free(last);
    last = NULL;
    malloc_trim(0); /* a job's memory counts what its slurmstepd has; malloc alone would keep it */
}
