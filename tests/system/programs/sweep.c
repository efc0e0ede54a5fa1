/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory-bound program for the count from outside: touches so many MiB, says READY through a FIFO with the pages by
 * node that it has, waits for a line, sweeps over the memory by cache line (one load and one store each), and says
 * DONE. Blocking reads, so that nothing else runs meanwhile.
 *
 *     sweep MIB PASSES TO-TEST-FIFO FROM-TEST-FIFO
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    size_t bytes = argc == 5 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    long passes = argc == 5 ? strtol(argv[2], NULL, 10) : 0;
    volatile char *memory;
    FILE *to, *from;

    if (!bytes || passes <= 0) {
        fprintf(stderr, "usage: sweep MIB PASSES TO-TEST-FIFO FROM-TEST-FIFO\n");
        return 2;
    }
    to = fopen(argv[3], "we");
    from = fopen(argv[4], "re");
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!to || !from || memory == MAP_FAILED || madvise((void *)memory, bytes, MADV_NOHUGEPAGE)) {
        perror("sweep");
        return 1;
    }
    for (size_t at = 0; at < bytes; at += 4096)
        memory[at] = 1;
    fprintf(to, "READY %d\n", (int)getpid());
    fflush(to);
    if (getc(from) == EOF)
        return 1;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t at = 0; at < bytes; at += 64)
            memory[at]++;
    }
    fprintf(to, "DONE\n");
    return fclose(to) ? 1 : 0;
}
