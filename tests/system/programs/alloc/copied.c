/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The copy kernel of STREAM on memory of libhybridmem, for tests that count accesses from outside of the guest. One
 * array is read, another one is written, with a load and a store for each cache line. Prints where the arrays are,
 * waits for a line, copies, prints DONE, and waits for the end of its input.
 *
 *       copied POLICY MIB PASSES
 */
#include <hybridmem.h>
#include <stdio.h>
#include <stdlib.h>

static volatile char *allocate(enum hm_alloc_policy policy, enum hm_alloc_use use, size_t bytes)
{
    const struct hm_alloc_hint hint = {.use = use};
    volatile char *memory = hm_alloc(bytes, policy, &hint);
    for (size_t at = 0; memory && at < bytes; at += 4096)
        memory[at] = 1;
    return memory;
}

static int print_nodes(const char *name, const volatile char *memory)
{
    struct hm_alloc_where where;
    if (hm_where((const void *)memory, &where) < 0)
        return -1;
    printf("\"%s\": {", name);
    for (int i = 0; i < where.n_nodes; i++)
        printf("%s\"%d\": %llu", i ? ", " : "", where.node[i].node, (unsigned long long)where.node[i].resident_bytes);
    printf("}");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    enum hm_alloc_policy policy = (enum hm_alloc_policy)atoi(argv[1]);
    size_t bytes = strtoull(argv[2], NULL, 10) << 20;
    long passes = atol(argv[3]);
    volatile char *from = allocate(policy, HM_ALLOC_READ_MOSTLY, bytes);
    volatile char *to = allocate(policy, HM_ALLOC_WRITE_INTENSIVE, bytes);
    if (!from || !to)
        return 1;
    printf("{");
    if (print_nodes("read", from) < 0)
        return 1;
    printf(", ");
    if (print_nodes("written", to) < 0)
        return 1;
    printf("}\n");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    for (long pass = 0; pass < passes; pass++)
        for (size_t at = 0; at < bytes; at += 64)
            to[at] = from[at];
    puts("DONE");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
