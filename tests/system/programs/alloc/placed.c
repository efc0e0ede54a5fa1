/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocates memory with libhybridmem for tests that look at it: touches the first TOUCHED-MIB of it, prints where each
 * block is, and keeps the memory until a line comes in or the input ends. With PASSES, after the line, it sweeps over
 * the memory PASSES times, prints DONE, and keeps the memory until the input ends.
 *
 *       placed POLICY USE MIB BLOCK-BYTES FAST-SHARE TOUCHED-MIB [PASSES]
 *
 * POLICY and USE are numbers of enum hm_alloc_policy and hm_alloc_use (hybridmem.h).
 */
#include <hybridmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_runs(const void *memory)
{
    struct hm_alloc_run run;
    const char *comma = "";
    for (size_t offset = 0; hm_where_run(memory, offset, &run) == 0; offset = run.offset + run.bytes, comma = ", ")
        printf("%s{\"offset\": %llu, \"bytes\": %llu, \"node\": %d, \"folder\": %d}", comma,
               (unsigned long long)run.offset, (unsigned long long)run.bytes, run.node, run.folder);
}

int main(int argc, char **argv)
{
    if (argc < 7)
        return 2;
    enum hm_alloc_policy policy = (enum hm_alloc_policy)atoi(argv[1]);
    struct hm_alloc_hint hint = {.use = atoi(argv[2]), .block_bytes = strtoull(argv[4], NULL, 10)};
    size_t bytes = strtoull(argv[3], NULL, 10) << 20, touched = strtoull(argv[6], NULL, 10) << 20;
    long passes = argc > 7 ? atol(argv[7]) : 0;
    struct hm_alloc_where where;
    hint.fast_share = atof(argv[5]);
    volatile char *memory = hm_alloc(bytes, policy, &hint);
    if (!memory) {
        fprintf(stderr, "placed: %s\n", hm_alloc_reason());
        return 1;
    }
    printf("{\"pid\": %d, \"address\": %llu, \"reason\": \"%s\", \"runs\": [", (int)getpid(),
           (unsigned long long)(size_t)memory, hm_alloc_reason());
    for (size_t at = 0; at < touched; at += 4096)
        memory[at] = 1;
    if (hm_where((const void *)memory, &where) < 0) {
        perror("placed: hm_where");
        return 1;
    }
    print_runs((const void *)memory);
    printf("], \"absent\": %llu, \"block\": %zu, \"nodes\": {", (unsigned long long)where.absent_bytes,
           where.block_bytes);
    for (int i = 0; i < where.n_nodes; i++)
        printf("%s\"%d\": [%llu, %llu]", i ? ", " : "", where.node[i].node,
               (unsigned long long)where.node[i].wanted_bytes, (unsigned long long)where.node[i].resident_bytes);
    printf("}}\n");
    fflush(stdout);
    if (getchar() == EOF || passes == 0)
        return 0;
    for (long pass = 0; pass < passes; pass++)
        for (size_t at = 0; at < bytes; at += 64)
            memory[at]++;
    puts("DONE");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    hm_free((void *)memory);
    return 0;
}
