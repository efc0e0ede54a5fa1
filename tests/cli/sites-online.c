/* SPDX-License-Identifier: Apache-2.0 */
/* A program for the tests of hybridmem sites guide --online: it goes on when it is guided. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sites-probe.h"

#define MOST_CPU_S 120 /* for a site to be chosen */
#define OF_ADDRESS 2   /* of linux/mempolicy.h */

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Has the memory a policy of its own? */
static bool is_placed(const void *memory)
{
    int mode = -1;
    if (syscall(SYS_get_mempolicy, &mode, NULL, 0, memory, OF_ADDRESS) != 0)
        abort();
    return mode != 0;
}

__attribute__((noinline)) static char *map_one(void)
{
    char *memory = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    memset(memory, 1, MIB);
    return memory;
}

/* Reads cache lines of the memory. */
static void use(const char *memory)
{
    uint64_t found = 0;
    for (unsigned i = 0; i < 1000000; i++)
        found += (uint64_t)memory[(size_t)i * 4161 & (MIB - 1)];
    sum += found;
}

/* A site is used until new memory of it is placed; then it gets so many mappings more, all in the same place. Tells how
 * many of these are placed. Another site has so many MiB before, in allocations that are too small to be placed. */
static void grow(char **words)
{
    const char *used = NULL;
    int wanted = atoi(words[0]), others = atoi(words[1]), n_placed = 0;
    for (int i = 0; i < others * 16; i++)
        sum += (uint64_t) * (char *)xmalloc(MIB / 16);
    for (int n = 0; n < wanted;) {
        char *memory = map_one();
        n_placed += is_placed(memory);
        if (n_placed > 0) {
            n++;
            continue;
        }
        if (cpu_s() > MOST_CPU_S)
            abort();
        if (used)
            munmap(memory, MIB);
        else
            used = memory;
        use(used);
    }
    printf("%d\n", n_placed);
}

static const struct command commands[] = {
    {"grow", .run_with = grow},
    {NULL},
};

int main(int argc, char **argv)
{
    (void)argc;
    return run_command(commands, argv + 1);
}
