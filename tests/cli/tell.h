/* SPDX-License-Identifier: Apache-2.0 */
/* For programs of the tests that say where their memory is. */
#ifndef TESTS_CLI_TELL_H
#define TESTS_CLI_TELL_H

#include <stdio.h>
#include <string.h>

/* Prints the memory policy of the mapping that has this memory. */
static void tell(const char *name, const void *memory)
{
    char line[4096], policy[64], found[64] = "none";
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    for (unsigned long start; maps && fgets(line, sizeof(line), maps);)
        if (sscanf(line, "%lx %63s", &start, policy) == 2 && start <= (unsigned long)memory)
            memcpy(found, policy, sizeof(found));
    if (maps)
        fclose(maps);
    printf("%s %s\n", name, found);
}

#endif
