/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that has at least OWN mappings, allocates COUNT arrays of BLOCKS blocks, and then goes on like any program:
 * it maps memory, starts threads, opens a library. Prints its number of mappings before and after the allocations, the
 * number of blocks and the reason (hm_alloc_reason) of each array, and whether the rest succeeded.
 *
 *       many OWN COUNT BLOCKS
 */
#include <dlfcn.h>
#include <hybridmem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BLOCK 65536
#define THREADS 16
#define MAPS 50 /* mappings that the program makes after its arrays */

static size_t count_mappings(void)
{
    size_t n = 0;
    int letter;
    FILE *file = fopen("/proc/self/maps", "re");
    if (!file)
        exit(3);
    while ((letter = getc(file)) != EOF)
        n += letter == '\n';
    fclose(file);
    return n;
}

/* Makes adjacent mappings, of two kinds in turn, as equal ones would be joined. */
static int map(long count)
{
    for (long i = 0; i < count; i++)
        if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
            return -1;
    return 0;
}

static void *work(void *unused)
{
    return unused;
}

static int start_threads(void)
{
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, NULL) != 0)
            return -1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long count = atol(argv[2]);
    struct hm_alloc_hint hint = {.block_bytes = BLOCK};
    struct hm_alloc_where where;
    size_t bytes = (size_t)atol(argv[3]) * BLOCK;
    hm_free(hm_alloc(bytes, HM_ALLOC_SPILL, &hint)); /* the first call reads the node, for which it may map memory */
    if (map(atol(argv[1]) - (long)count_mappings()) < 0)
        return 3;
    printf("{\"before\": %zu, \"arrays\": [", count_mappings());
    for (long i = 0; i < count; i++) {
        char *memory = hm_alloc(bytes, HM_ALLOC_SPILL, &hint);
        if (!memory)
            return 4;
        memory[0] = memory[bytes - 1] = 1;
        memset(&where, 0, sizeof(where));
        int is_ours = hm_where(memory, &where) == 0;
        printf("%s[%zu, \"%s\"]", i ? ", " : "", is_ours && where.block_bytes ? bytes / where.block_bytes : 0,
               hm_alloc_reason());
    }
    printf("], \"after\": %zu", count_mappings());
    int mapped = map(MAPS), started = start_threads();
    void *library = dlopen("libresolv.so.2", RTLD_NOW);
    printf(", \"mapped\": %d, \"started\": %d, \"opened\": %d}\n", mapped == 0, started == 0, library != NULL);
    return 0;
}
