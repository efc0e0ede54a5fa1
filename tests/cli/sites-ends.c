/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose allocations are known, for the tests of hybridmem sites: how they end, and at which limits. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sites-probe.h"

CALLER(0)
CALLER(1)

/* Ends of allocations: freed, made larger, and left. */
static void lives(void)
{
    for (int i = 0; i < 10; i++)
        free(caller_0());
    char *grown = realloc(caller_1(), 3 * MIB);
    void *aligned = NULL;
    if (!grown || posix_memalign(&aligned, 4096, MIB) != 0 || !aligned_alloc(64, 2 * MIB) || !calloc(3, MIB))
        abort();
    free(aligned);
    char *mapped = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        abort();
    munmap(mapped, 2 * MIB);
    munmap(mapped + 6 * MIB, 2 * MIB);
    munmap(mapped + 2 * MIB, 4 * MIB);
    for (int i = 0; i < 1000; i++)
        if (i % 2 == 0)
            free(malloc(40));
        else
            sum += (uint64_t)(uintptr_t)malloc(100);
}

static void lives_after_exec(void)
{
    execl(program_invocation_name, program_invocation_name, "lives", (char *)NULL);
}

static void lives_after_close(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    lives();
}

static pthread_key_t key;
static _Thread_local int n_ends;

/* Others' data of the thread is gone by now. */
static void allocate_at_end(void *memory)
{
    char *other = realloc(xmalloc(8192), 9000);
    free(memory);
    free(other);
    if (++n_ends < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(key, xmalloc(100));
}

static void *end(void *unused)
{
    (void)unused;
    pthread_setspecific(key, xmalloc(8192));
    return xmalloc(100);
}

/* Threads allocate and free as they end. */
static void ends(void)
{
    void *memory;
    free(xmalloc(8192));
    free(xmalloc(100));
    pthread_key_create(&key, allocate_at_end);
    for (int i = 0; i < 20; i++) {
        pthread_t id;
        pthread_create(&id, NULL, end, NULL);
        pthread_join(id, &memory);
        free(memory);
    }
}

static void *end_before(void *unused)
{
    (void)unused;
    pthread_cancel(pthread_self());
    free(xmalloc(8192));
    pthread_testcancel();
    abort();
}

/* A thread is to end as it allocates: it does so after that. */
static void cancels(void)
{
    pthread_t id;
    pthread_create(&id, NULL, end_before, NULL);
    pthread_join(id, NULL);
    for (int i = 0; i < 100; i++)
        free(xmalloc(8192));
}

/* Addresses are few: more are asked for than there are, and none is used up for ever. */
static void few(void)
{
    const struct rlimit addresses = {128 * MIB, 128 * MIB};
    static void *memory[100000];
    setrlimit(RLIMIT_AS, &addresses);
    for (int round = 0; round < 3; round++) {
        size_t n = 0;
        while (n < 100000 && (memory[n] = malloc(8192)) != NULL)
            n++;
        if (n < 5000 || n == 100000)
            abort();
        while (n > 0)
            free(memory[--n]);
    }
}

/* No file may have a byte, and no write beyond that is forgiven. */
static void limit(void)
{
    const struct rlimit none = {0, 0};
    int status = 0;
    setrlimit(RLIMIT_FSIZE, &none);
    for (int i = 0; i < 5000; i++)
        sum += (uint64_t)(uintptr_t)malloc(8192);
    if (fork() == 0) {
        free(malloc(8192));
        _exit(0);
    }
    if (wait(&status) < 0 || status != 0)
        abort();
}

static const struct command commands[] = {
    {"lives", lives},
    {"exec", lives_after_exec},
    {"close", lives_after_close},
    {"ends", ends},
    {"cancels", cancels},
    {"few", few},
    {"limit", limit},
    {NULL},
};

int main(int argc, char **argv)
{
    (void)argc;
    return run_command(commands, argv + 1);
}
