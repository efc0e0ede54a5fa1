/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the notes of hybridmem sites run, or the guidance of hybridmem sites guide, cost, as a ratio to plain malloc, in
 * one run: rounds with libc's own malloc and with that of the library take turns, and each is compared with the one
 * beside it, as the clock of a CPU changes. The median of these counts: others' work disturbs some rounds only. A
 * program that makes a million small allocations a second: each is freed after 64 others, and between two the program
 * works for the rest of a microsecond. What a large allocation with its end takes more is compared with a walk of its
 * stack by libgcc's unwinder. Prints both ratios, and the ns that a small and a large one take more. Its argument is
 * the library of the notes; or "guided", where it was started with that of the guidance, whose size classes of up to 1
 * KiB are fast, and the site of its blocks of 1 MiB. Then it prints also the bytes resident for each byte of small
 * allocations, of libc's malloc and the library's, and the ratio for blocks of 1 MiB that are filled; with "resident"
 * it prints the bytes resident of malloc alone, whichever that is.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include "base/clock.h"
#include "base/random.h"
#include "sites/compile/given.h"
#include "sites/record/table.h"

#define ROUNDS 200
#define SMALL_PAIRS 2000 /* some 2 ms: many rounds are not interrupted, also where others are at work */
#define LARGE_PAIRS 200
#define LARGE 8192
#define BLOCK_PAIRS 100
#define BLOCK ((size_t)1 << 20)
#define KEPT 64
#define PAIR_NS 1000
#define OBJECTS 100000
#define LARGEST_OBJECT 1000

_Thread_local uint64_t HM_SITES_GIVEN; /* as in a program that hybridmem-cc has compiled */

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

/* ns of CPU time for a pair. Blocks are filled, one after the other; of the others, KEPT live at a time, a byte is
 * written. */
static double run(void *(*take)(size_t), void (*give)(void *), unsigned pairs, size_t bytes, unsigned steps)
{
    static void *kept[KEPT];
    size_t filled = bytes == BLOCK ? BLOCK : 1;
    unsigned n_kept = bytes == BLOCK ? 1 : KEPT;
    uint64_t began = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (unsigned i = 0; i < pairs; i++) {
        give(kept[i % n_kept]);
        kept[i % n_kept] = take(bytes + i % 32);
        memset(kept[i % n_kept], (int)i, filled);
        __asm__ volatile("" : : "r"(kept[i % n_kept]) : "memory");
        work(steps);
    }
    double passed = (double)(hm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) / pairs;
    for (unsigned i = 0; i < KEPT; i++) {
        give(kept[i]);
        kept[i] = NULL;
    }
    return passed;
}

static int order(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double median(double *value, size_t n)
{
    qsort(value, n, sizeof(*value), order);
    return value[n / 2];
}

struct cost {
    double plain_ns; /* of a pair, by libc's own malloc */
    double more_ns;  /* that it takes more by the library's */
    double ratio;
};

static struct cost compare(unsigned pairs, size_t bytes, unsigned steps)
{
    static double plain[ROUNDS], more[ROUNDS], ratio[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        plain[round] = run(__libc_malloc, __libc_free, pairs, bytes, steps);
        double ours = run(malloc, free, pairs, bytes, steps);
        more[round] = ours - plain[round];
        ratio[round] = ours / plain[round];
    }
    return (struct cost){median(plain, ROUNDS), median(more, ROUNDS), median(ratio, ROUNDS)};
}

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data)
{
    unsigned *n = data;
    sum = sum + _Unwind_GetIP(context);
    return ++*n < HM_SITES_DEPTH ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void *take_and_unwind(size_t bytes)
{
    unsigned n = 0;
    _Unwind_Backtrace(visit, &n);
    return __libc_malloc(bytes);
}

/* What the library's allocations and their ends take more, as a share of what the unwinder takes. */
static double compare_with_unwinder(unsigned pairs, size_t bytes)
{
    static double ratio[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double plain = run(__libc_malloc, __libc_free, pairs, bytes, 0);
        double ours = run(malloc, free, pairs, bytes, 0);
        ratio[round] = (ours - plain) / (run(take_and_unwind, __libc_free, pairs, bytes, 0) - plain);
    }
    return median(ratio, ROUNDS);
}

/* As many steps of work as make a pair take a microsecond, where others do not disturb it. */
static unsigned find_steps(void)
{
    unsigned steps = 1;
    for (int late = 0; late < 5; late++)
        for (; run(__libc_malloc, __libc_free, SMALL_PAIRS, 64, steps) < PAIR_NS; late = 0)
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

static double resident_bytes(void)
{
    unsigned long all, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    bool is_read = file && fscanf(file, "%lu %lu", &all, &resident) == 2;
    if (file)
        fclose(file);
    return is_read ? (double)resident * (double)sysconf(_SC_PAGESIZE) : 0;
}

/* Objects of random sizes, each of which is replaced several times. Returns the bytes resident for each asked for. */
static double grow(void *(*take)(size_t), void (*give)(void *))
{
    static void *object[OBJECTS];
    static size_t size[OBJECTS];
    struct hm_random random = {1};
    double asked = 0, before;
    memset(object, 1, sizeof(object)); /* their pages are not counted */
    memset(object, 0, sizeof(object));
    memset(size, 1, sizeof(size));
    memset(size, 0, sizeof(size));
    before = resident_bytes();
    for (unsigned i = 0; i < 10 * OBJECTS; i++) {
        size_t at = i < OBJECTS ? i : hm_random_next(&random) % OBJECTS;
        size_t bytes = 1 + hm_random_next(&random) % LARGEST_OBJECT;
        asked += (double)bytes - (double)size[at];
        give(object[at]);
        object[at] = take(bytes);
        size[at] = bytes;
        memset(object[at], 1, bytes);
    }
    return (resident_bytes() - before) / asked;
}

/* The same in a process of its own. */
static double grow_alone(void *(*take)(size_t), void (*give)(void *))
{
    double *found = mmap(NULL, sizeof(*found), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        *found = grow(take, give);
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
    return *found;
}

/* In the site whose id is all ones. */
static double compare_blocks(void)
{
    HM_SITES_GIVEN = UINT64_MAX;
    struct cost block = compare(BLOCK_PAIRS, BLOCK, 0);
    HM_SITES_GIVEN = 0;
    return block.ratio;
}

int main(int argc, char **argv)
{
    const char *folder = getenv(HM_SITES_FOLDER);
    bool is_guided = argc == 2 && strcmp(argv[1], "guided") == 0;
    if (argc != 2)
        return 2;
    if (strcmp(argv[1], "resident") == 0)
        return printf("%.3f\n", grow_alone(malloc, free)) > 0 ? 0 : 1;
    if (!folder && !is_guided)
        return start(argv);
    struct cost small = compare(SMALL_PAIRS, 64, find_steps());
    struct cost bare = compare(SMALL_PAIRS, 64, 0);
    struct cost large = compare(LARGE_PAIRS, LARGE, 0);
    double large_ratio = compare_with_unwinder(LARGE_PAIRS, LARGE);
    printf("%.3f %.0f %.0f %.0f %.3f", small.ratio, bare.plain_ns, bare.more_ns, large.more_ns, large_ratio);
    if (is_guided)
        printf(" %.3f %.3f %.3f", grow_alone(__libc_malloc, __libc_free), grow_alone(malloc, free), compare_blocks());
    putchar('\n');
    return is_guided ? 0 : end(folder);
}
