/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with three parts of memory of the same size, each from one call of malloc: in one, random cache lines are
 * written, in one the same lines are read, and one is left alone after it was touched once.
 *
 *     thirds MIB BEGIN-FILE READY-FILE GO-FILE
 *
 * It allocates the parts once BEGIN-FILE exists. READY-FILE gets the pid and, in hexadecimal, where the written, the
 * read and the cold part begin. The program ends when GO-FILE exists.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BATCH 20000
#define LINE 64
#define PARTS 3

enum { WRITTEN, READ, COLD };

static int write_ready(const char *path, char *const part[PARTS])
{
    char draft[4096];
    if (snprintf(draft, sizeof(draft), "%s.draft", path) >= (int)sizeof(draft))
        return -1;
    FILE *file = fopen(draft, "we");
    if (!file)
        return -1;
    fprintf(file, "%d", (int)getpid());
    for (int i = 0; i < PARTS; i++)
        fprintf(file, " %lx", (unsigned long)(uintptr_t)part[i]);
    fputc('\n', file);
    return fclose(file) == 0 ? rename(draft, path) : -1;
}

/* xorshift64: no library call, and no other memory than the one that is watched */
static uint64_t next_random(uint64_t x)
{
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
}

int main(int argc, char **argv)
{
    const struct timespec tick = {.tv_nsec = 20000000}, rest = {.tv_nsec = 5000000};
    size_t bytes = argc == 5 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    uint64_t x = 88172645463325252u, sum = 0;
    char *part[PARTS];
    if (bytes == 0) {
        fprintf(stderr, "usage: thirds MIB BEGIN-FILE READY-FILE GO-FILE\n");
        return 2;
    }
    while (access(argv[2], F_OK))
        nanosleep(&tick, NULL);
    for (int i = 0; i < PARTS; i++) {
        part[i] = malloc(bytes);
        if (!part[i]) {
            perror("thirds: memory");
            return 1;
        }
        memset(part[i], 1, bytes);
    }
    if (write_ready(argv[3], part)) {
        perror("thirds: ready file");
        return 1;
    }
    volatile char *written = part[WRITTEN], *read = part[READ];
    while (access(argv[4], F_OK)) {
        for (int i = 0; i < BATCH; i++) {
            x = next_random(x);
            size_t at = x % bytes / LINE * LINE;
            written[at] = (char)x;
            sum += (uint64_t)read[at];
        }
        nanosleep(&rest, NULL); /* spares the guest's host, which emulates each access */
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}
