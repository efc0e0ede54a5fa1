/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose page faults tell which memory it uses: it touches MIB MiB of memory once, then writes to
 * each page of its hot range, round after round. Before each round it clears the soft-dirty marks (clear_refs), so that
 * the first write to a page is a page fault. The program itself never moves or unmaps a page.
 *
 *     rewrite MIB HOT-FIRST-MIB HOT-MIB KIND READY-FILE GO-FILE
 *
 * READY-FILE gets the pid and the hexadecimal start of the memory. The program ends when GO-FILE exists. The memory is
 * private and anonymous (small), in transparent huge pages (huge) or in those of hugetlbfs (hugetlb); or it is in a
 * file that is mapped: shared memory (shared), a file beside READY-FILE (file), or /dev/shm/given, which is there
 * (given). forked: a child shares the pages that are not written. shared, given: a child writes, and its parent has
 * used all of it up to the middle of the hot range, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1UL << 20)
#define PAGE 4096UL

static int write_ready(const char *path, const volatile char *memory)
{
    char draft[4096];
    if (snprintf(draft, sizeof(draft), "%s.draft", path) >= (int)sizeof(draft))
        return -1;
    FILE *file = fopen(draft, "we");
    if (!file)
        return -1;
    fprintf(file, "%d %lx\n", (int)getpid(), (unsigned long)(uintptr_t)memory);
    return fclose(file) == 0 ? rename(draft, path) : -1;
}

/* Starts a child that lives until this process ends. It shares each page until this process writes the page. */
static void share(void)
{
    if (fork() != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;)
        pause();
}

static char *map_file(const char *path, int flags, size_t bytes)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | flags, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return MAP_FAILED;
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static char *map_memory(const char *kind, const char *ready, size_t bytes)
{
    char path[4096];
    /* not reserved: what this program maps and does not use would keep huge pages from being moved */
    int huge = strcmp(kind, "hugetlb") == 0 ? MAP_HUGETLB | MAP_NORESERVE : 0;
    snprintf(path, sizeof(path), "%s.data", ready);
    if (strcmp(kind, "file") == 0)
        return map_file(path, O_CREAT, bytes);
    if (strcmp(kind, "given") == 0)
        return map_file("/dev/shm/given", 0, bytes);
    if (strcmp(kind, "shared") != 0)
        return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | huge, -1, 0);
    char *memory = map_file("/dev/shm/rewrite", O_CREAT, bytes);
    unlink("/dev/shm/rewrite");
    return memory;
}

/* Goes on in a child, whose exit status becomes that of this process. Before, this process uses `bytes` of memory from
 * `from` on. */
static void go_on_in_child(const volatile char *from, size_t bytes)
{
    int status;
    pid_t child = fork();
    for (size_t at = 0; child > 0 && at < bytes; at += PAGE)
        (void)from[at];
    if (child > 0)
        _exit(waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int main(int argc, char **argv)
{
    const struct timespec tick = {.tv_nsec = 10000000};
    if (argc != 7) {
        fprintf(stderr, "usage: rewrite MIB HOT-FIRST-MIB HOT-MIB KIND READY-FILE GO-FILE\n");
        return 2;
    }
    size_t bytes = strtoul(argv[1], NULL, 10) * MIB;
    size_t first = strtoul(argv[2], NULL, 10) * MIB, hot = strtoul(argv[3], NULL, 10) * MIB;
    bool is_huge = strcmp(argv[4], "huge") == 0, is_forked = strcmp(argv[4], "forked") == 0;
    bool has_child = strcmp(argv[4], "shared") == 0 || strcmp(argv[4], "given") == 0;
    char *raw = map_memory(argv[4], argv[5], bytes + 2 * MIB);
    if (raw == MAP_FAILED || first + hot > bytes) {
        perror("rewrite");
        return 1;
    }
    volatile char *memory = (char *)(((uintptr_t)raw + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
    madvise((void *)memory, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (has_child)
        go_on_in_child(memory, first + hot / 2);
    int refs = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    for (size_t at = 0; at < bytes; at += PAGE)
        memory[at] = 1;
    if (is_forked)
        share();
    if (write_ready(argv[5], memory)) {
        perror("rewrite: ready file");
        return 1;
    }
    while (access(argv[6], F_OK)) {
        if (write(refs, "4", 1) != 1) {
            perror("rewrite: clear_refs");
            return 1;
        }
        for (size_t at = first; at < first + hot; at += PAGE)
            memory[at]++;
        nanosleep(&tick, NULL);
    }
    return 0;
}
