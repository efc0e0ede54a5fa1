/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose page faults tell which memory it uses: it touches MIB MiB of anonymous memory once, then writes to
 * each page of its hot range, round after round. Before each round it clears the soft-dirty marks (clear_refs), so that
 * the first write to a page is a page fault. The program itself never moves or unmaps a page.
 *
 *     rewrite MIB HOT-FIRST-MIB HOT-MIB small|huge|forked READY-FILE GO-FILE
 *
 * huge: the memory is in transparent huge pages. forked: a child shares the pages that are not written. READY-FILE gets
 * the pid and the hexadecimal start of the memory. The program ends when GO-FILE exists.
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

int main(int argc, char **argv)
{
    const struct timespec tick = {.tv_nsec = 10000000};
    if (argc != 7) {
        fprintf(stderr, "usage: rewrite MIB HOT-FIRST-MIB HOT-MIB small|huge|forked READY-FILE GO-FILE\n");
        return 2;
    }
    size_t bytes = strtoul(argv[1], NULL, 10) * MIB;
    size_t first = strtoul(argv[2], NULL, 10) * MIB, hot = strtoul(argv[3], NULL, 10) * MIB;
    bool is_huge = strcmp(argv[4], "huge") == 0, is_forked = strcmp(argv[4], "forked") == 0;
    char *raw = mmap(NULL, bytes + 2 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int refs = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (raw == MAP_FAILED || refs < 0 || first + hot > bytes) {
        perror("rewrite");
        return 1;
    }
    volatile char *memory = (char *)(((uintptr_t)raw + 2 * MIB - 1) / (2 * MIB) * (2 * MIB));
    madvise((void *)memory, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
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
