/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls every function that the preload library replaces, checks what each promises, and prints lines with the name of
 * a case and the policy that the kernel has for its memory ("default", or that of libhybridmem).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE ((size_t)3 << 20)
#define SMALL 1000

static void fail(const char *what)
{
    printf("FAILED %s\n", what);
    exit(1);
}

/* Prints the name and the memory's policy: the second word of the mapping's line in numa_maps. The mapping with the
 * address is the last one that starts at or before it. */
static void say(const char *name, const void *memory)
{
    static char line[65536], policy[64], start_policy[64];
    FILE *file = fopen("/proc/self/numa_maps", "re");
    if (!file)
        fail("numa_maps");
    while (fgets(line, sizeof(line), file)) {
        unsigned long long start;
        if (sscanf(line, "%llx %63s", &start, start_policy) == 2 && start <= (uintptr_t)memory)
            memcpy(policy, start_policy, sizeof(policy));
    }
    fclose(file);
    printf("%s %s\n", name, policy);
    fflush(stdout);
}

static void check_bytes(const char *name, const void *memory, int byte, size_t bytes)
{
    const unsigned char *at = memory;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte)
            fail(name);
}

static void *(*volatile alloc)(size_t) = malloc; /* so that the compiler keeps the calls */

__attribute__((noinline)) void *allocate_field(size_t bytes)
{
    void *memory = alloc(bytes);
    __asm__ volatile("" ::"r"(memory) : "memory");
    return memory;
}

static void try_each(void)
{
    char *memory = alloc(SMALL);
    say("small", memory);
    free(memory);
    memory = alloc(LARGE);
    memset(memory, 1, LARGE);
    say("malloc", memory);
    if (malloc_usable_size(memory) < LARGE)
        fail("malloc_usable_size");
    free(memory);
    memory = calloc(3, LARGE / 3);
    check_bytes("calloc", memory, 0, LARGE / 3 * 3);
    say("calloc", memory);
    free(memory);
    memory = aligned_alloc(1 << 21, LARGE / (1 << 21) * (1 << 21));
    if ((uintptr_t)memory % (1 << 21))
        fail("aligned_alloc");
    say("aligned_alloc", memory);
    free(memory);
    memory = memalign(4096, LARGE);
    if ((uintptr_t)memory % 4096)
        fail("memalign");
    say("memalign", memory);
    free(memory);
    if (posix_memalign((void **)&memory, 64, LARGE) != 0 || (uintptr_t)memory % 64)
        fail("posix_memalign");
    say("posix_memalign", memory);
    free(memory);
    if (posix_memalign((void **)&memory, (size_t)1 << 30, LARGE) != 0 || (uintptr_t)memory % (1 << 30))
        fail("posix_memalign of a GiB");
    say("posix_memalign-gib", memory);
    free(memory);
    if (posix_memalign((void **)&memory, 3, LARGE) != EINVAL)
        fail("posix_memalign of 3");
}

static void try_realloc(void)
{
    char *memory = alloc(SMALL);
    memset(memory, 7, SMALL);
    memory = realloc(memory, LARGE);
    check_bytes("realloc up", memory, 7, SMALL);
    say("realloc-up", memory);
    memset(memory, 8, LARGE);
    memory = realloc(memory, 2 * LARGE);
    check_bytes("realloc of ours", memory, 8, LARGE);
    say("realloc-more", memory);
    char *same = realloc(memory, 2 * LARGE - 100);
    if (same != memory)
        fail("realloc moved for nothing");
    memory = realloc(memory, SMALL);
    check_bytes("realloc down", memory, 8, SMALL);
    say("realloc-down", memory);
    memory = reallocarray(memory, 2, LARGE);
    check_bytes("reallocarray", memory, 8, SMALL);
    say("reallocarray", memory);
    free(memory);
    memory = realloc(NULL, LARGE);
    say("realloc-null", memory);
    free(memory);
}

static void try_errors(void)
{
    volatile size_t much = SIZE_MAX;
    errno = 0;
    if (alloc(much) || errno != ENOMEM)
        fail("malloc of everything");
    errno = 0;
    if (calloc(much, 2) || errno != ENOMEM)
        fail("calloc overflow");
    char *memory = alloc(LARGE);
    memset(memory, 5, LARGE);
    if (realloc(memory, much / 2 - 4096))
        fail("realloc to everything");
    check_bytes("what realloc could not move", memory, 5, LARGE);
    errno = 77;
    free(memory);
    if (errno != 77)
        fail("free changed errno");
    memory = alloc(LARGE);
    if (errno != 77)
        fail("malloc changed errno");
    free(memory);
}

static void *work(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++) {
        size_t bytes = i % 3 ? LARGE : SMALL;
        char *memory = alloc(bytes);
        memory[0] = memory[bytes - 1] = (char)i;
        memory = realloc(memory, bytes + LARGE);
        if (memory[0] != (char)i || memory[bytes - 1] != (char)i)
            fail("threads");
        free(memory);
    }
    return NULL;
}

static void try_threads_and_fork(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++)
        if (pthread_create(&thread[i], NULL, work, NULL))
            fail("pthread_create");
    for (int i = 0; i < 20; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            char *memory = alloc(LARGE);
            memory[LARGE - 1] = 1;
            free(memory);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status != 0)
            fail("fork");
    }
    for (int i = 0; i < 4; i++)
        pthread_join(thread[i], NULL);
    puts("threads-and-fork done");
}

/* A child that calls no exec has a copy of the parent's memory with the parent's policies, and its own allocations are
 * placed by the same rules. */
static void try_fork(void)
{
    char *inherited = alloc(LARGE);
    int status;
    memset(inherited, 3, LARGE);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        check_bytes("what a child inherits", inherited, 3, LARGE);
        memset(inherited, 4, LARGE);
        say("inherited", inherited);
        say("forked", alloc(LARGE));
        free(inherited);
        _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("a child's memory");
    check_bytes("what a child has written to", inherited, 3, LARGE);
    free(inherited);
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* the library places by this program's own environment */
        say("child", alloc(argc > 2 ? strtoul(argv[2], NULL, 10) : LARGE));
        return 0;
    }
    try_each();
    try_realloc();
    try_errors();
    say("allocate_field", allocate_field(200000));
    try_threads_and_fork();
    try_fork();
    say("parent", alloc(LARGE));
    setenv("HYBRIDMEM_ISOLATE_SIZE", "1G", 1);
    fflush(stdout);
    execl(argv[0], argv[0], "child", (char *)NULL);
    return 1;
}
