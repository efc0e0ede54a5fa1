/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A memory-bound program for tests that count accesses from outside of the guest. It touches MIB MiB, writes READY and
 * its pid to a FIFO, waits for a line, sweeps PASSES times over the memory (one load and one store for each cache
 * line), and writes DONE. It waits in blocking reads, so that nothing else runs meanwhile.
 *
 *     sweep MIB PASSES TO-TEST-FIFO FROM-TEST-FIFO [FOLDER...]
 *
 * With FOLDERs, its memory is a file in each of them, all of equal size. They are mapped with MAP_SYNC, which only a
 * DAX file system allows.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Makes a file in each folder. Maps the files in place of the memory: each takes an equal part, in order. */
static int map_files(char *memory, size_t bytes, char **folder, int n)
{
    for (int i = 0; i < n; i++) {
        int fd = open(folder[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

        if (fd < 0 || ftruncate(fd, (off_t)(bytes / n)) ||
            mmap(memory + bytes / n * i, bytes / n, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC | MAP_FIXED,
                 fd, 0) == MAP_FAILED)
            return -1;
        close(fd);
    }
    return 0;
}

int main(int argc, char **argv)
{
    size_t bytes = argc >= 5 ? strtoull(argv[1], NULL, 10) << 20 : 0;
    long passes = argc >= 5 ? strtol(argv[2], NULL, 10) : 0;
    volatile char *memory;
    FILE *to, *from;

    if (!bytes || passes <= 0) {
        fprintf(stderr, "usage: sweep MIB PASSES TO-TEST-FIFO FROM-TEST-FIFO [FOLDER...]\n");
        return 2;
    }
    to = fopen(argv[3], "we");
    from = fopen(argv[4], "re");
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!to || !from || memory == MAP_FAILED || madvise((void *)memory, bytes, MADV_NOHUGEPAGE) ||
        map_files((char *)memory, bytes, argv + 5, argc - 5)) {
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
