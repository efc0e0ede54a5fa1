/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose memory grows by realloc. Ends with 0 where its content is right, and it had little more memory at any
 * time than what it had asked for. The first argument chooses how it grows. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define MOST (256 * MIB)
#define NEAR (MOST - 8 * MIB)

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static void fill(char *memory, size_t from, size_t to)
{
    for (size_t at = from; at < to; at += 4096)
        memory[at] = (char)(at / 4096 % 127 + 1);
}

static void check(const char *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 4096)
        if (memory[at] != (char)(at / 4096 % 127 + 1))
            fail("the content has changed");
}

__attribute__((noinline)) char *grow(char *memory, size_t bytes, size_t to, size_t step)
{
    for (; bytes < to; bytes += step) {
        memory = realloc(memory, bytes + step);
        if (!memory)
            fail("realloc has failed");
        fill(memory, bytes, bytes + step);
    }
    return memory;
}

/* A function of its own, so that a rule can be for it. */
__attribute__((noinline)) char *grow_elsewhere(char *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (!memory)
        fail("realloc has failed");
    return memory;
}

static size_t peak_bytes(void)
{
    char line[128];
    size_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file))
        if (sscanf(line, "VmHWM: %zu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    return kib << 10;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    char *memory = grow(NULL, 0, strcmp(how, "steps") == 0 ? MOST : NEAR, MIB);
    if (strcmp(how, "elsewhere") == 0) /* and back */
        memory = grow(grow_elsewhere(memory, NEAR + 4096), NEAR, MOST, MIB);
    if (strcmp(how, "changed") == 0) { /* no memory of one kind any more, and so libc copies it */
        if (mprotect(memory + (64 * MIB - (uintptr_t)memory % MIB), MIB, PROT_READ) < 0)
            fail("mprotect");
        memory = grow(memory, NEAR, MOST, MIB);
    }
    if (strcmp(how, "forked") == 0) {
        int status;
        pid_t child = fork();
        memory = grow(memory, NEAR, MOST, MIB);
        if (child == 0)
            check(memory, MOST);
        if (child == 0)
            _exit(0);
        if (waitpid(child, &status, 0) != child || status != 0)
            fail("the child");
    }
    check(memory, MOST);
    if (peak_bytes() > MOST / 10 * 12)
        fail("it had much more memory than it asked for");
    memory = realloc(memory, 40 * MIB);
    check(memory, 40 * MIB);
    if (malloc_usable_size(memory) > 48 * MIB)
        fail("what is not asked for any more is kept");
    free(memory);
    return 0;
}
