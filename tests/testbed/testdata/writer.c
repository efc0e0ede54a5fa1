// SPDX-License-Identifier: Apache-2.0
// writer MIB PASSES: in each of PASSES passes, write MIB MiB of memory from end to end, eight bytes at a time.
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(int argc, char **argv)
{
    size_t words = argc == 3 ? strtoull(argv[1], NULL, 10) << 20 >> 3 : 0;
    long passes = argc == 3 ? strtol(argv[2], NULL, 10) : 0;
    volatile uint64_t *memory;

    memory = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    for (long pass = 0; pass < passes; pass++)
        for (size_t i = 0; i < words; i++)
            memory[i] = i;
    return 0;
}
