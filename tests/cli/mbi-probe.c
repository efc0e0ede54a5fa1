/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with three allocation sites, for the tests of hybridmem profile mbi. It adds the lines that it would read
 * and write in the slow tier to the two counts in a file, its argument, which stands in for the node's counters: which
 * of its memory is there it sees by the policy of each mapping, and by the sockets of --nodes "fast=0@0 slow=0@1",
 * which are exchanged where the chosen memory is that of the slow tier. A tier is full where a second file says so. A
 * third file gets a line with the numbers of the blocked signals.
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define SITES 3
#define OTHERS 700000 /* lines that others than the program read meanwhile */

static const long long reads[SITES] = {1000000, 4000000, 0}, writes[SITES] = {500000, 0, 2000000};
static const long long rest = 500000; /* lines of stacks and the like that are read */

__attribute__((noinline)) static char *xmalloc(size_t bytes)
{
    char *memory = malloc(bytes);
    if (!memory)
        abort();
    memset(memory, 1, bytes);
    return memory;
}

/* Has the mapping of this memory a policy of its own? */
static bool is_chosen(const void *memory)
{
    char line[4096], policy[64];
    bool found = false;
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    for (unsigned long start; maps && fgets(line, sizeof(line), maps);)
        if (sscanf(line, "%lx %63s", &start, policy) == 2 && start <= (unsigned long)memory)
            found = strncmp(policy, "prefer", 6) == 0;
    if (!maps || fclose(maps) != 0)
        abort();
    return found;
}

static void add(const char *path, long long more_reads, long long more_writes)
{
    long long before_reads, before_writes;
    FILE *file = fopen(path, "r+");
    if (!file || fscanf(file, "%lld %lld", &before_reads, &before_writes) != 2)
        abort();
    rewind(file);
    fprintf(file, "%lld %lld\n", before_reads + more_reads, before_writes + more_writes);
    if (fclose(file) != 0)
        abort();
}

/* Where FILE.full is there, as many allocations as it says were not in the wanted tier: so says the file that stands in
 * for the kernel's counts of the node. */
static void fill(const char *path)
{
    char name[512], text[64];
    snprintf(name, sizeof(name), "%s.full", path);
    FILE *full = fopen(name, "r");
    if (!full)
        return;
    snprintf(name, sizeof(name), "%s.numastat", path);
    FILE *stand_in = fopen(name, "w");
    if (!stand_in || !fgets(text, sizeof(text), full))
        abort();
    fprintf(stand_in, "numa_hit 9\nnuma_miss %d\nnuma_foreign 0\n", atoi(text));
    if (fclose(stand_in) != 0 || fclose(full) != 0)
        abort();
}

static void note_blocked_signals(const char *path)
{
    char name[512];
    sigset_t blocked;
    snprintf(name, sizeof(name), "%s.blocked", path);
    FILE *file = fopen(name, "a");
    if (!file || sigprocmask(SIG_BLOCK, NULL, &blocked) != 0)
        abort();
    for (int number = 1; number < NSIG; number++)
        if (sigismember(&blocked, number) == 1)
            fprintf(file, "%d ", number);
    fputc('\n', file);
    if (fclose(file) != 0)
        abort();
}

int main(int argc, char **argv)
{
    char *memory[SITES] = {xmalloc(2 * MIB), xmalloc(3 * MIB), xmalloc(4 * MIB)}, fails[512];
    const char *told = getenv("HYBRIDMEM_GUIDE");
    bool is_turned = told && strncmp(told, "fast=0@1", 8) == 0;
    long long read = OTHERS + (told && !is_turned ? rest : 0), written = 0;
    if (argc < 2)
        return 2;
    note_blocked_signals(argv[1]);
    snprintf(fails, sizeof(fails), "%s.term", argv[1]);
    if (access(fails, F_OK) == 0)
        raise(SIGTERM);
    for (int i = 0; i < SITES; i++) {
        if (!told || is_chosen(memory[i]) != is_turned)
            continue;
        read += reads[i];
        written += writes[i];
        snprintf(fails, sizeof(fails), "%s.fail%d", argv[1], i);
        if (is_turned && access(fails, F_OK) == 0)
            return 3;
    }
    fill(argv[1]);
    add(argv[1], read, written);
    return 0;
}
