/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel about nodes and pages, in the guest for Arm.
 *
 *     pages size                   the bytes of a page
 *     pages on NODE COMMAND...     run the command with its memory on this node
 *     pages count PID FROM TO      the pages between two hexadecimal addresses that are on node 0, and on node 1
 */
#define _GNU_SOURCE
#include <numaif.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int bind_and_run(int node, char **command)
{
    unsigned long mask = 1UL << node;
    if (set_mempolicy(MPOL_BIND, &mask, 8 * sizeof(mask)) == 0)
        execvp(command[0], command);
    perror("pages: on");
    return 1;
}

static int count(int pid, uintptr_t from, uintptr_t to)
{
    unsigned n[2] = {0};
    for (uintptr_t at = from; at < to; at += (uintptr_t)sysconf(_SC_PAGESIZE)) {
        void *address = (void *)at;
        int node = -1;
        if (move_pages(pid, 1, &address, NULL, &node, 0) != 0) {
            perror("pages: count");
            return 1;
        }
        if (node == 0 || node == 1)
            n[node]++;
    }
    printf("%u %u\n", n[0], n[1]);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "size") == 0)
        return printf("%ld\n", sysconf(_SC_PAGESIZE)) < 0;
    if (argc > 3 && strcmp(argv[1], "on") == 0)
        return bind_and_run(atoi(argv[2]), argv + 3);
    if (argc == 5 && strcmp(argv[1], "count") == 0)
        return count(atoi(argv[2]), strtoul(argv[3], NULL, 16), strtoul(argv[4], NULL, 16));
    fprintf(stderr, "usage: pages size | on NODE COMMAND... | count PID FROM TO\n");
    return 2;
}
