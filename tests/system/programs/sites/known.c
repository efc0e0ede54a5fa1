/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of up to 20 allocation sites, callers of one function that allocates for all, each with traffic of its own.
 *
 *     known SITES [FILE [TIMES]]    ends with status 3 where FILE is there
 *
 * Site n, from 0 on, has 3 MiB and 64 KiB for each site before it. They are written once, then n % 4 times, and then
 * read n + 2 times, one access for each line; all but the first write so many TIMES. Prints "BYTES FETCHED WRITTEN" of
 * each site: how often each line reaches the memory behind a cache that is smaller. Reading comes last, and all is done
 * on one CPU, so that no written line is left in a cache.
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES(n) (((size_t)3 << 20) + (size_t)(n)*65536)
#define LINE 64
#define SITES 20

static volatile uint64_t sum;

__attribute__((noinline)) static char *xmalloc(size_t bytes)
{
    char *memory = malloc(bytes);
    if (!memory)
        abort();
    for (size_t at = 0; at < bytes; at += LINE)
        memory[at] = 1;
    return memory;
}

#define CALLER(n)                                                                                                      \
    __attribute__((noinline)) static char *caller_##n(void)                                                            \
    {                                                                                                                  \
        char *memory = xmalloc(BYTES(n));                                                                              \
        sum += (uint64_t)memory[n];                                                                                    \
        return memory;                                                                                                 \
    }
#define ALL(X)                                                                                                         \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19)
ALL(CALLER)
#define NAME(n) caller_##n,
static char *(*const callers[SITES])(void) = {ALL(NAME)};

static int writes_of(int site)
{
    return site % 4;
}

static int reads_of(int site)
{
    return site + 2;
}

__attribute__((noinline)) static void write_all(char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += LINE)
        ((volatile char *)memory)[at] = 2;
}

__attribute__((noinline)) static void read_all(const char *memory, size_t bytes)
{
    uint64_t found = 0;
    for (size_t at = 0; at < bytes; at += LINE)
        found += (uint64_t)((const volatile char *)memory)[at];
    sum += found;
}

static void use(char **memory, int n)
{
    for (int pass = 0; pass < SITES; pass++)
        for (int i = 0; i < n; i++)
            if (pass < writes_of(i))
                write_all(memory[i], BYTES(i));
    for (int pass = 0; pass < SITES + 2; pass++)
        for (int i = 0; i < n; i++)
            if (pass < reads_of(i))
                read_all(memory[i], BYTES(i));
}

int main(int argc, char **argv)
{
    char *memory[SITES];
    cpu_set_t one;
    int n = argc > 1 ? atoi(argv[1]) : 0, times = argc > 3 ? atoi(argv[3]) : 1;
    if (n < 1 || n > SITES)
        return 2;
    if (argc > 2 && access(argv[2], F_OK) == 0)
        return 3;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        abort();
    for (int i = 0; i < n; i++)
        memory[i] = callers[i]();
    for (int i = 0; i < times; i++)
        use(memory, n);
    for (int i = 0; i < n; i++)
        printf("%zu %d %d\n", BYTES(i), 1 + times * (writes_of(i) + reads_of(i)), 1 + times * writes_of(i));
    return 0;
}
