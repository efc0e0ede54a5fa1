/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a known hot tenth: nine of ten of its accesses, at random addresses, go to a tenth of its memory, the
 * others anywhere.
 *
 *     hotrange MIB read|write|sweep READY-FILE GO-FILE
 *
 * `read`: all memory is only read. `write`: the hot tenth is written. `sweep`: no part is hot, as each page is written
 * every few milliseconds. READY-FILE gets the pid and, in hexadecimal, where the memory and its hot tenth begin and
 * end. The program ends when GO-FILE exists, and prints its accesses and CPU seconds.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BATCH 20000
#define PAGE 4096

static int write_ready(const char *path, const volatile char *memory, size_t bytes, size_t start, size_t hot)
{
    char draft[4096];
    if (snprintf(draft, sizeof(draft), "%s.draft", path) >= (int)sizeof(draft))
        return -1;
    FILE *file = fopen(draft, "we");
    if (!file)
        return -1;
    uintptr_t first = (uintptr_t)memory;
    fprintf(file, "%d %lx %lx %lx %lx\n", (int)getpid(), first, first + bytes, first + start, first + start + hot);
    return fclose(file) == 0 ? rename(draft, path) : -1;
}

/* xorshift64: no library call, and no other memory than the one that is watched */
static uint64_t next_random(uint64_t x)
{
    x ^= x << 13;
    x ^= x >> 7;
    return x ^ x << 17;
}

/* Writes each page once. Returns the number of accesses. */
static size_t sweep(volatile char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        memory[at]++;
    return bytes / PAGE;
}

int main(int argc, char **argv)
{
    size_t bytes = argc == 5 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    bool is_write = bytes && strcmp(argv[2], "write") == 0, is_sweep = bytes && strcmp(argv[2], "sweep") == 0;
    const struct timespec rest = {.tv_nsec = is_sweep ? 2000000 : 15000000};
    uint64_t x = 88172645463325252u, accesses = 0, sum = 0;
    if (bytes == 0) {
        fprintf(stderr, "usage: hotrange MIB read|write|sweep READY-FILE GO-FILE\n");
        return 2;
    }
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise((void *)memory, bytes, MADV_NOHUGEPAGE)) {
        perror("hotrange: memory");
        return 1;
    }
    sweep(memory, bytes);
    size_t hot = bytes / 10 / PAGE * PAGE, start = bytes / 10 * 6 / PAGE * PAGE;
    if (write_ready(argv[3], memory, bytes, start, hot)) {
        perror("hotrange: ready file");
        return 1;
    }
    while (access(argv[4], F_OK)) {
        accesses += is_sweep ? sweep(memory, bytes) : BATCH;
        for (int i = 0; !is_sweep && i < BATCH; i++) {
            x = next_random(x);
            bool is_hot = x % 1024 < 922;
            size_t at = is_hot ? start + (x >> 10) % hot : (x >> 10) % bytes;
            if (is_hot && is_write)
                memory[at] = (char)x;
            else
                sum += (unsigned char)memory[at];
        }
        nanosleep(&rest, NULL); /* spares the guest's host, which emulates each access */
    }
    printf("%lu accesses, sum %lu, %.2f s\n", accesses, sum, (double)clock() / CLOCKS_PER_SEC);
    return 0;
}
