/* SPDX-License-Identifier: Apache-2.0 */
/* A program that allocates in all ways, each at a site of its own with a size of its own, and tells where it is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tell.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define SITE __attribute__((noinline, noclone)) static void *

/* Uses memory, which has to be aligned. Keeps a call of an allocation function from being the last, too: its function
 * would not be on the stack. */
static void *used(void *memory, size_t alignment, size_t bytes)
{
    if (!memory || memory == MAP_FAILED || (uintptr_t)memory % alignment != 0)
        abort();
    memset(memory, 1, bytes);
    return memory;
}

static void *map(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

SITE zeroed(void)
{
    return used(calloc(2, MIB), 1, 2 * MIB);
}

SITE aligned_to_64k(void)
{
    return used(memalign(64 * KIB, 200 * KIB), 64 * KIB, 200 * KIB);
}

SITE aligned_to_4m(void)
{
    void *memory = NULL;
    return used(posix_memalign(&memory, 4 * MIB, 3 * MIB) == 0 ? memory : NULL, 4 * MIB, 3 * MIB);
}

SITE aligned_to_1g(void)
{
    return used(aligned_alloc(1024 * MIB, 5 * MIB), 1024 * MIB, 5 * MIB);
}

SITE small_aligned(void)
{
    return used(memalign(16 * KIB, 20 * KIB), 16 * KIB, 20 * KIB);
}

SITE grown(void)
{
    return used(realloc(used(malloc(4 * MIB), 1, 4 * MIB), 6 * MIB), 1, 6 * MIB);
}

SITE mapped(void)
{
    return used(map(MIB), 1, MIB);
}

SITE small_mapped(void)
{
    return used(map(64 * KIB), 1, 64 * KIB);
}

SITE populated(void)
{
    void *memory = mmap(NULL, 7 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return used(memory, 1, 7 * MIB);
}

SITE remapped(void)
{
    char *memory = mremap(used(map(9 * MIB), 1, 9 * MIB), 9 * MIB, 10 * MIB, MREMAP_MAYMOVE);
    return used(memory, 1, 10 * MIB);
}

/* No allocation: of a file. */
static void remap_file(void)
{
    int fd = open("/proc/self/exe", O_RDONLY);
    void *memory = mmap(NULL, MIB, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED || mremap(memory, MIB, 13 * MIB, MREMAP_MAYMOVE) == MAP_FAILED)
        abort();
    close(fd);
}

/* Another site's memory, which need not move. */
SITE shrunk(void)
{
    return used(realloc(used(malloc(12 * MIB), 1, 12 * MIB), 11 * MIB), 1, 11 * MIB);
}

SITE sized(void *memory)
{
    return used(realloc(memory, 8 * KIB), 1, 8 * KIB);
}

SITE page(void *unused)
{
    (void)unused;
    return used(map(8 * KIB), 1, 8 * KIB);
}

#define ORDERED 400
#define AGAIN 8 /* of so many, one is sized twice */

/* Small allocations in an order. The call is one in the code, so that they are one site. Some are made twice:
 * sized again, or another. */
static void order(void *(*make)(void *))
{
    static void *memory[ORDERED];
    static int turn[2 * ORDERED];
    int n = 0;
    for (int i = 0; i < ORDERED; i++)
        for (int times = i % AGAIN == 0 ? 2 : 1; times > 0; times--)
            turn[n++] = i;
    for (int i = 0; i < n; i++)
        memory[turn[i]] = make(memory[turn[i]]);
    for (int i = 0; i < ORDERED; i++)
        tell("ordered", memory[i]);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        order(strcmp(argv[1], "mappings") == 0 ? page : sized);
        return 0;
    }
    tell("zeroed", zeroed());
    tell("aligned_to_64k", aligned_to_64k());
    tell("aligned_to_4m", aligned_to_4m());
    tell("aligned_to_1g", aligned_to_1g());
    tell("small_aligned", small_aligned());
    tell("grown", grown());
    tell("mapped", mapped());
    tell("small_mapped", small_mapped());
    tell("populated", populated());
    tell("remapped", remapped());
    remap_file();
    tell("shrunk", shrunk());
    return 0;
}
