/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose memory can be looked at: touches MIB MiB of anonymous memory, page by page, says so, and holds the
 * memory until the program is told to end.
 *
 *     occupy [--huge] MIB READY-FILE GO-FILE [PASSES]
 *
 * Huge pages are off, so that each page is 4 KiB; with --huge the kernel may use them, and the memory is filled sooner.
 * READY-FILE gets the pid and, by node, the anonymous pages of numa_maps at the peak. The program ends when GO-FILE
 * exists. With PASSES it sweeps over the memory that many times (reads and writes by cache line) before it writes
 * READY-FILE, for tests that count accesses from outside of the guest.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAX_NODES 64

/* Sums up N<node>=<pages> of numa_maps over mappings with anonymous pages. There a huge page counts as 512. */
static int read_pages(unsigned long pages[MAX_NODES])
{
    FILE *file = fopen("/proc/self/numa_maps", "re");
    char *line = NULL;
    size_t size = 0;

    if (!file)
        return -1;
    while (getline(&line, &size, file) > 0) {
        if (!strstr(line, " anon="))
            continue;
        for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
            unsigned node;
            unsigned long count;
            if (sscanf(word, "N%u=%lu", &node, &count) == 2 && node < MAX_NODES)
                pages[node] += count;
        }
    }
    free(line);
    return fclose(file);
}

static int write_ready(const char *path)
{
    unsigned long pages[MAX_NODES] = {0};
    char draft[4096];
    FILE *file;

    if (read_pages(pages) < 0 || snprintf(draft, sizeof(draft), "%s.draft", path) >= (int)sizeof(draft))
        return -1;
    file = fopen(draft, "we");
    if (!file)
        return -1;
    fprintf(file, "{\"pid\": %d, \"pages\": {", (int)getpid());
    for (int node = 0, first = 1; node < MAX_NODES; node++) {
        if (pages[node]) {
            fprintf(file, "%s\"%d\": %lu", first ? "" : ", ", node, pages[node]);
            first = 0;
        }
    }
    fprintf(file, "}}\n");
    if (fclose(file))
        return -1;
    return rename(draft, path);
}

int main(int argc, char **argv)
{
    bool is_huge = argc > 1 && strcmp(argv[1], "--huge") == 0;
    argc -= is_huge;
    argv += is_huge;
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    long passes = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
    const struct timespec tick = {.tv_nsec = 20000000};
    volatile char *memory;

    if (argc < 4 || bytes == 0) {
        fprintf(stderr, "usage: occupy [--huge] MIB READY-FILE GO-FILE [PASSES]\n");
        return 2;
    }
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise((void *)memory, bytes, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE)) {
        perror("occupy: memory");
        return 1;
    }
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t at = 0; at < bytes; at += 64)
            memory[at]++;
    }
    if (write_ready(argv[2])) {
        perror("occupy: ready file");
        return 1;
    }
    while (access(argv[3], F_OK))
        nanosleep(&tick, NULL);
    return 0;
}
