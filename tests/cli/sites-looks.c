/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose allocations are known, for the tests of hybridmem sites run: it goes on when the recorder has looked,
 * or disturbs the recorder. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sites-probe.h"

CALLER(2)

/* Cuts off the recording, stays for a while, and ends without a note, which would find no table. */
static void cut(void)
{
    char path[512];
    caller_2();
    snprintf(path, sizeof(path), "%s/table", getenv("HYBRIDMEM_SITES"));
    if (fork() == 0) {
        unsetenv("LD_PRELOAD");
        execlp("truncate", "truncate", "-s", "0", path, (char *)NULL);
        _exit(1);
    }
    wait(NULL);
    usleep(100000);
    syscall(SYS_exit_group, 0);
}

/* How many files the recorder's folder has of this process. */
static size_t count_files(const char *folder, const char *prefix)
{
    size_t n = 0;
    DIR *opened = opendir(folder);
    for (struct dirent *entry; opened && (entry = readdir(opened)) != NULL;)
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    if (!opened || closedir(opened) != 0)
        abort();
    return n;
}

/* Is the file of this program, which is mapped, removed? */
static bool is_removed(const char *folder, const char *prefix)
{
    char line[1024];
    bool is_gone = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps))
        is_gone |= strstr(line, folder) && strstr(line, prefix) && strstr(line, "(deleted)");
    if (!maps || fclose(maps) != 0)
        abort();
    return is_gone;
}

/* Waits until the recorder has looked: it removes the file of a process that has ended. */
static void await_look(void)
{
    char prefix[32];
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child)
        abort();
    snprintf(prefix, sizeof(prefix), "p%d-", (int)child);
    while (count_files(getenv("HYBRIDMEM_SITES"), prefix) > 0)
        usleep(1000);
}

#define LOOKS 12

/* The memory of one site is gone before that of the other is there, and each is there for LOOKS looks. */
static void phases(void)
{
    char *first = malloc(9 * MIB);
    sum += (uint64_t)(uintptr_t)first;
    for (int i = 0; i < LOOKS; i++)
        await_look();
    free(first);
    char *second = malloc(11 * MIB);
    sum += (uint64_t)(uintptr_t)second;
    for (int i = 0; i < LOOKS; i++)
        await_look();
    free(second);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits for so many looks that what is allocated lives far longer than the time between two of them, also where the
 * machine stalls. */
static void await_many_looks(void)
{
    double start_s = now_s(), before_s = start_s, longest_s = 0;
    for (int i = 0; i < 4 * LOOKS || before_s - start_s < 8 * longest_s; i++) {
        await_look();
        double looked_s = now_s();
        longest_s = looked_s - before_s > longest_s ? looked_s - before_s : longest_s;
        before_s = looked_s;
    }
}

/* Of a mapping of 8 MiB a quarter is touched, of one of 9 MiB nothing, and of one of 3 MiB all; and one of 5 MiB is
 * shared with a child. */
static void untouched(void)
{
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    char *part = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *none = mmap(NULL, 9 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *whole = mmap(NULL, 3 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *shared = mmap(NULL, 5 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2; i++) /* some kernels take a huge zero page for memory */
        if (madvise(i == 0 ? part : none, 8 * MIB, MADV_NOHUGEPAGE) != 0 && errno != EINVAL)
            abort();
    memset(part + MIB, 1, 2 * MIB);
    memset(whole, 1, 3 * MIB);
    sum += (uint64_t)none[0] + (uint64_t)shared[0]; /* reads the zero page */
    await_many_looks();
}

/* Executes itself so many times, each after the recorder has removed the file of the program before. */
static void chain(char **words)
{
    int more = atoi(words[0]);
    char number[16], prefix[32];
    const char *folder = getenv("HYBRIDMEM_SITES");
    snprintf(prefix, sizeof(prefix), "p%d-", (int)getpid());
    while (count_files(folder, prefix) > 1)
        usleep(1000);
    if (is_removed(folder, prefix))
        _exit(4);
    snprintf(number, sizeof(number), "%d", more - 1);
    if (more > 0)
        execl(program_invocation_name, program_invocation_name, "chain", number, (char *)NULL);
    caller_2();
}

static const struct command commands[] = {
    {"cut", cut}, {"phases", phases}, {"untouched", untouched}, {"chain", .run_with = chain}, {NULL},
};

int main(int argc, char **argv)
{
    (void)argc;
    return run_command(commands, argv + 1);
}
