/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs whose allocations are known (sites-*.c) share. Each does one thing, which its first argument names.
 */
#ifndef TESTS_CLI_SITES_PROBE_H
#define TESTS_CLI_SITES_PROBE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((size_t)1 << 20)

static volatile uint64_t sum;

__attribute__((noinline)) static void *xmalloc(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        abort();
    memset(memory, 1, bytes);
    return memory;
}

/* A caller of xmalloc, which allocates n + 1 MiB. */
#define CALLER(n)                                                                                                      \
    __attribute__((noinline)) static char *caller_##n(void)                                                            \
    {                                                                                                                  \
        char *memory = xmalloc((n + 1) * MIB);                                                                         \
        sum += (uint64_t)memory[0];                                                                                    \
        return memory;                                                                                                 \
    }

/* What a program can do. The last row of a table has no name. */
struct command {
    const char *name;
    void (*run)(void);
    void (*run_with)(char **words); /* instead of run; the words end with NULL */
};

/* Does what the first word names, with the other words. Without a word it does nothing. Returns the exit status. */
static int run_command(const struct command *command, char **words)
{
    if (!words[0])
        return 0;
    while (command->name && strcmp(command->name, words[0]) != 0)
        command++;
    if (!command->name) {
        fprintf(stderr, "%s: no such command\n", words[0]);
        return 2;
    }
    if (command->run_with)
        command->run_with(words + 1);
    else
        command->run();
    return 0;
}

#endif
