/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose allocations are known, for the tests of hybridmem sites: which memory it uses, and where that is. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "sites-probe.h"
#include "tell.h"

#define CALLERS 8

enum told { NOTHING, POLICIES, ADDRESSES };

CALLER(0)
CALLER(1)
CALLER(2)
CALLER(3)
CALLER(4)
CALLER(5)
CALLER(6)
CALLER(7)
static char *(*const callers[CALLERS])(void) = {caller_0, caller_1, caller_2, caller_3,
                                                caller_4, caller_5, caller_6, caller_7};

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Reads cache lines far from each other; the size is a power of two. */
__attribute__((noinline)) static void use(const char *memory, size_t bytes, unsigned rounds)
{
    size_t at = 0;
    uint64_t found = 0;
    for (unsigned i = 0; i < rounds; i++) {
        found += (uint64_t)memory[at];
        at = (at + 4161) & (bytes - 1);
    }
    sum += found;
}

/*
 * Three of four accesses go to caller 1's memory, the fourth to a part of caller 7's. A clock samples time, and how
 * long an access takes depends on the caches, which other programs use, too. Each line of the part is read more often
 * in a round than one of caller 1's, so its accesses should be no slower: about a quarter of the time is theirs.
 */
static void hot(double seconds, enum told told)
{
    char *memory[CALLERS], name[16], *mapped = NULL;
    bool tells = told == POLICIES;
    if (tells)
        mapped = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < CALLERS; i++)
        memory[i] = callers[i]();
    for (int i = 0; i < CALLERS && tells; i++) {
        snprintf(name, sizeof(name), "%d", i + 1);
        tell(name, memory[i]);
    }
    if (tells) {
        tell("9", mapped);
        tell("stack", name);
    }
    if (told == ADDRESSES)
        dprintf(STDOUT_FILENO, "%p %p\n", (void *)memory[1], (void *)memory[7]);
    for (double end = cpu_s() + seconds; cpu_s() < end;) {
        use(memory[1], 2 * MIB, 75000);
        use(memory[7], MIB / 2, 25000);
    }
}

/* Words: the seconds, and a further one where it is to tell the addresses. */
static void hot_for(char **words)
{
    hot(words[0] ? atof(words[0]) : 0.5, words[0] && words[1] ? ADDRESSES : NOTHING);
}

static void where(void)
{
    hot(0, POLICIES);
}

#define SMALL_ROUNDS 400
#define SMALL_IN_ROUND 100

__attribute__((noinline)) static char *hot_caller(void)
{
    return xmalloc(8192);
}

__attribute__((noinline)) static char *cold_caller(void)
{
    return xmalloc(10240);
}

/* Small allocations of two callers, and of two size classes, take turns. Tells of the first, a middle and the last. */
static void small(double seconds, bool tells)
{
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        char *hot_site = hot_caller(), *cold_site = cold_caller(), *class_128 = NULL, *class_256 = NULL;
        for (int j = 0; j < SMALL_IN_ROUND; j++) {
            class_128 = xmalloc(100);
            class_256 = xmalloc(200);
        }
        sum += (uint64_t)(hot_site[0] + cold_site[0] + class_128[0] + class_256[0]);
        if (tells && (i == 0 || i == SMALL_ROUNDS / 2 || i == SMALL_ROUNDS - 1)) {
            tell("hot", hot_site);
            tell("cold", cold_site);
            tell("128", class_128);
            tell("256", class_256);
        }
    }
    usleep((useconds_t)(seconds * 1e6));
}

/* The word: the seconds for which the memory stays, without telling. */
static void small_for(char **words)
{
    small(words[0] ? atof(words[0]) : 0, !words[0]);
}

/* Small allocations of two callers take turns, and those of one are used. */
static void neighbours(void)
{
    static char *hot_site[SMALL_ROUNDS], *cold_site[SMALL_ROUNDS];
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        hot_site[i] = hot_caller();
        cold_site[i] = cold_caller();
    }
    for (double end = cpu_s() + 1; cpu_s() < end;)
        for (int i = 0; i < SMALL_ROUNDS; i++)
            use(hot_site[i], 8192, 1000);
    sum += (uint64_t)cold_site[0][0];
}

/* Small allocations of one size that two sites make in turn. Tells of them when all are there. */
static void twins(void)
{
    static char *first[SMALL_ROUNDS], *second[SMALL_ROUNDS];
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        first[i] = hot_caller();
        second[i] = hot_caller();
    }
    for (int i = 0; i < SMALL_ROUNDS; i++) {
        tell("first", first[i]);
        tell("second", second[i]);
    }
}

#define SLICES 32 /* of large memory */

/* Memory whose slices may be in different tiers: a large allocation, a mapping, and small ones in their order. */
static void slices(void)
{
    char *large = caller_7(), *small_ones[SMALL_ROUNDS];
    char *mapped = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < SMALL_ROUNDS; i++)
        small_ones[i] = hot_caller();
    for (size_t i = 0; i < SLICES; i++) {
        tell("large", large + i * 8 * MIB / SLICES);
        tell("mapped", mapped + (2 * i + 1) * 9 * MIB / (2 * SLICES));
    }
    for (int i = 0; i < SMALL_ROUNDS; i++)
        tell("small", small_ones[i]);
}

/* A site with 8 allocations of 1 MiB, which are made twice, and another whose memory comes after them. The loop is the
 * same in all rounds, or the compiler would make two of it, with a site in each. */
static void part(void)
{
    char *memory[8] = {NULL}, name[16];
    for (int i = 0; i < 16; i++) {
        free(memory[i % 8]);
        memory[i % 8] = caller_0();
    }
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "large%d", i);
        tell(name, memory[i]);
    }
    tell("late", caller_1());
}

/* One mapping is used when it has got larger, and another when it was moved. */
static void grows(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *grown = mmap(NULL, MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *moved = mmap(NULL, 4 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *place = mmap(NULL, 16 * MIB, PROT_NONE, flags, -1, 0);
    grown = mremap(grown, MIB, 8 * MIB, MREMAP_MAYMOVE);
    moved = mremap(moved, 4 * MIB, 4 * MIB, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (grown == MAP_FAILED || moved != place)
        abort();
    memset(grown, 1, 8 * MIB);
    memset(moved, 1, 4 * MIB);
    for (double end = cpu_s() + 0.5; cpu_s() < end;) {
        use(grown, 8 * MIB, 50000);
        use(moved, 4 * MIB, 50000);
    }
}

__attribute__((noinline)) static char *sized_caller(size_t from, size_t to)
{
    char *memory = realloc(xmalloc(from), to);
    if (!memory)
        abort();
    memset(memory, 1, to);
    return memory;
}

/* realloc makes one allocation larger that had slices, and another that had none. */
static void sizes(void)
{
    char *large = sized_caller(MIB, 8 * MIB);
    char *small = sized_caller(MIB / 16, 4 * MIB);
    for (double end = cpu_s() + 0.5; cpu_s() < end;) {
        use(large, 8 * MIB, 50000);
        use(small, 4 * MIB, 50000);
    }
}

__attribute__((noinline)) static char *late_caller(size_t bytes)
{
    char *memory = xmalloc(bytes);
    sum += (uint64_t)memory[0];
    return memory;
}

/* The child keeps nothing but what it shares, for as long as its parent lives. */
static void share(char *cold_memory, char *hot_memory)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    free(cold_memory);
    free(hot_memory);
    for (;;)
        pause();
}

/* A site of which there is much is used once, and another whose memory a child shares. One that is used all the time
 * comes after them; a power of two. */
static void late(size_t cold_mib, size_t shared_mib, size_t hot_mib, double seconds)
{
    char *cold_memory = xmalloc(cold_mib * MIB), *shared = xmalloc(shared_mib * MIB),
         *hot_memory = late_caller(hot_mib * MIB);
    sum += (uint64_t)(cold_memory[0] + shared[0]);
    if (fork() == 0)
        share(cold_memory, hot_memory);
    printf("hot %p of %d\n", (void *)hot_memory, (int)getpid());
    fflush(stdout);
    for (double end = cpu_s() + seconds; cpu_s() < end;)
        use(hot_memory, hot_mib * MIB, 100000);
}

static void late_for(char **words)
{
    late((size_t)atoi(words[0]), (size_t)atoi(words[1]), (size_t)atoi(words[2]), atof(words[3]));
}

static void status(void)
{
    exit(7);
}

static void abort_after(void)
{
    caller_2();
    abort();
}

static const struct command commands[] = {
    {"hot", .run_with = hot_for},
    {"where", where},
    {"small", .run_with = small_for},
    {"neighbours", neighbours},
    {"twins", twins},
    {"slices", slices},
    {"part", part},
    {"grows", grows},
    {"sizes", sizes},
    {"late", .run_with = late_for},
    {"status", status},
    {"abort", abort_after},
    {NULL},
};

int main(int argc, char **argv)
{
    (void)argc;
    return run_command(commands, argv + 1);
}
