/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ranks whose accesses are known share (hotset.c, zipf.c). A control file is a page that the test made, and that
 * the test and all ranks have mapped: the test writes orders into it, each rank its progress. Orders are obeyed between
 * batches of accesses; everything is counted in accesses, nothing in time.
 *
 * The ranks go in step, as ranks that exchange messages do: no rank begins a batch before all ranks have ended the one
 * before. Otherwise a rank that the scheduler favours would be hotter than the others.
 */
#ifndef HM_TESTS_CONTROL_H
#define HM_TESTS_CONTROL_H

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
#define LINE 64UL
#define BATCH 65536
#define MAX_RANKS 16

enum order { ORDER_WAIT, ORDER_ALLOCATE, ORDER_RUN, ORDER_END };

/* tests/system/ranks.py relies on the order of the fields. */
struct control {
    volatile uint64_t order, jumps_allowed, unused[6];
    struct {
        volatile uint64_t pid, accesses, jumps, jumped_at; /* jumped_at: accesses at the last jump */
        volatile uint64_t memory;                          /* its address, when the rank has it */
        volatile uint64_t has_cold;                        /* the rank has touched its cold parts */
        uint64_t unused[2];
    } rank[MAX_RANKS];
};

/* The control file's map; NULL: see errno. */
static inline struct control *map_control(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *map = MAP_FAILED;

    if (fd >= 0)
        map = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return map == MAP_FAILED ? NULL : map;
}

static inline void wait_for_order(const struct control *control, enum order order)
{
    const struct timespec tick = {.tv_nsec = 20000000};

    while (control->order < order)
        nanosleep(&tick, NULL);
}

/* Waits until all ranks have made this many accesses, or the test has ended the work. */
static inline void wait_for_others(const struct control *control, unsigned long ranks, uint64_t done)
{
    const struct timespec tick = {.tv_nsec = 1000000};

    for (unsigned long i = 0; i < ranks; i++) {
        while (control->rank[i].accesses < done && control->order == ORDER_RUN)
            nanosleep(&tick, NULL);
    }
}

/* A number that Slurm has put into the environment. */
static inline unsigned long of_slurm(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);

    return text ? strtoul(text, NULL, 10) : otherwise;
}

/* Anonymous memory without huge pages, not yet touched; NULL: see errno. */
static inline char *map_small_pages(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED || madvise(memory, bytes, MADV_NOHUGEPAGE) ? NULL : memory;
}

static inline uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* Where a rank's random numbers begin. */
static inline uint64_t random_seed(unsigned long rank)
{
    return 88172645463325252UL + rank * 2654435761UL;
}

/* A number below `limit` (under 2^32) from 32 random bits. */
static inline size_t below(uint64_t bits, size_t limit)
{
    return (size_t)(((bits & 0xffffffff) * limit) >> 32);
}

#endif
