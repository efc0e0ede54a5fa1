/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the notes of hybridmem sites run cost, as a ratio to plain malloc, in one run: rounds with libc's own malloc and
 * with that of the library take turns, and the fastest of each counts. A program that makes a million small allocations
 * a second: each is freed after 64 others, and between two the program works for the rest of a microsecond. Prints the
 * ratio, and the ns that a small and a large allocation with its end take more. Its argument is the library.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "sites/record/table.h"

#define ROUNDS 60
#define SMALL_PAIRS 20000
#define LARGE_PAIRS 2000
#define LARGE 8192
#define KEPT 64
#define PAIR_NS 1000

void *__libc_malloc(size_t bytes);
void __libc_free(void *memory);

static volatile uint64_t sum;

__attribute__((noinline)) static void work(unsigned steps)
{
    uint64_t value = sum;
    for (unsigned i = 0; i < steps; i++)
        value = value * UINT64_C(6364136223846793005) + 1442695040888963407;
    sum = value;
}

/* ns of CPU time for a pair. */
static double run(void *(*take)(size_t), void (*give)(void *), unsigned pairs, size_t bytes, unsigned steps)
{
    static void *kept[KEPT];
    uint64_t began = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < pairs; i++) {
        give(kept[i % KEPT]);
        kept[i % KEPT] = take(bytes + i % 32);
        *(volatile char *)kept[i % KEPT] = 1;
        work(steps);
    }
    double passed = (double)(hm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) / pairs;
    for (unsigned i = 0; i < KEPT; i++) {
        give(kept[i]);
        kept[i] = NULL;
    }
    return passed;
}

/* The least ns of libc's own malloc, and of the library's. */
static void compare(unsigned pairs, size_t bytes, unsigned steps, double least[2])
{
    least[0] = least[1] = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double ns[2] = {run(__libc_malloc, __libc_free, pairs, bytes, steps), run(malloc, free, pairs, bytes, steps)};
        for (int i = 0; i < 2; i++)
            least[i] = ns[i] < least[i] ? ns[i] : least[i];
    }
}

/* As many steps of work as make a pair take a microsecond. */
static unsigned find_steps(void)
{
    unsigned steps = 1;
    while (run(__libc_malloc, __libc_free, SMALL_PAIRS, 64, steps) < PAIR_NS)
        steps += steps / 8 + 1;
    return steps;
}

/* Makes a table as the recorder does, and starts this program again with the library. */
static int start(char **argv)
{
    char folder[] = "/dev/shm/hybridmem-bench.XXXXXX", path[64];
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof(path), "%s/" HM_SITES_TABLE, folder);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, sizeof(struct hm_sites_table)) != 0)
        return 1;
    struct hm_sites_table *table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (table == MAP_FAILED)
        return 1;
    table->least_bytes = 4096;
    table->bytes = sizeof(*table);
    table->magic = HM_SITES_MAGIC;
    setenv(HM_SITES_FOLDER, folder, 1);
    setenv("LD_PRELOAD", argv[1], 1);
    execv("/proc/self/exe", argv);
    return 1;
}

/* Was every pair noted? Removes the folder's files. */
static int end(const char *folder)
{
    struct hm_sites_process head = {.magic = 0};
    char path[256];
    uint64_t allocations = 0;
    snprintf(path, sizeof(path), "%s/" HM_SITES_PROCESS, folder, (int)getpid(), 0);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head))
        for (unsigned c = 0; c < HM_SITES_CLASSES; c++)
            allocations += head.small[0][c].allocations;
    unlink(path);
    snprintf(path, sizeof(path), "%s/" HM_SITES_TABLE, folder);
    unlink(path);
    rmdir(folder);
    return allocations >= (uint64_t)ROUNDS * SMALL_PAIRS ? 0 : 1;
}

int main(int argc, char **argv)
{
    const char *folder = getenv(HM_SITES_FOLDER);
    double small[2], bare[2], large[2];
    if (!folder)
        return argc == 2 ? start(argv) : 2;
    compare(SMALL_PAIRS, 64, find_steps(), small);
    compare(SMALL_PAIRS, 64, 0, bare);
    compare(LARGE_PAIRS, LARGE, 0, large);
    printf("%.3f %.0f %.0f %.0f\n", small[1] / small[0], bare[0], bare[1] - bare[0], large[1] - large[0]);
    return end(folder);
}
