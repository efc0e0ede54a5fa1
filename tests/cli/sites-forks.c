/* SPDX-License-Identifier: Apache-2.0 */
/* A program with threads and children whose allocations are known, for the tests of hybridmem sites. */
#define _GNU_SOURCE
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sites-probe.h"

CALLER(0)
CALLER(3)
CALLER(4)

static void *thread(void *unused)
{
    (void)unused;
    for (int i = 0; i < 200; i++)
        free(caller_0());
    return caller_0();
}

static void threads(void)
{
    pthread_t id[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&id[i], NULL, thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
}

/* The parent's memory is not the child's, too; what the child allocates is. */
static void forks(void)
{
    char *memory = caller_3();
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            free(memory);
            caller_4();
            _exit(0);
        }
        wait(NULL);
    }
}

/* Threads that allocate and free small memory in all ways, while the program forks. */
static void *churn(void *unused)
{
    char *kept[64] = {NULL};
    unsigned number = 1;
    (void)unused;
    for (int i = 0; i < 20000; i++) {
        char **place = &kept[number % 64], *before = *place;
        void *aligned = NULL;
        size_t bytes = (number >> 8) % 12000 + 1, usable = before ? malloc_usable_size(before) : 0;
        number = number * 1103515245 + 12345;
        if (before && (before[0] != before[usable - 1] || before[0] != 1))
            abort();
        if (number >> 20 & 1) {
            *place = realloc(before, bytes);
        } else if (number >> 20 & 2) {
            free(before);
            *place = posix_memalign(&aligned, 256, bytes) == 0 ? aligned : NULL;
            if ((uintptr_t)*place % 256 != 0)
                abort();
        } else {
            free(before);
            *place = calloc(1, bytes);
            for (size_t j = 0; *place && j < bytes; j++)
                if ((*place)[j] != 0)
                    abort();
        }
        if (!*place || (uintptr_t)*place % _Alignof(max_align_t) != 0)
            abort();
        memset(*place, 1, malloc_usable_size(*place));
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

static void allocate_in_fork(void)
{
    free(malloc(100));
    free(malloc(8192));
}

static void churns(void)
{
    pthread_t id[4];
    int status;
    pthread_atfork(allocate_in_fork, allocate_in_fork, allocate_in_fork);
    for (int i = 0; i < 4; i++)
        pthread_create(&id[i], NULL, churn, NULL);
    for (int i = 0; i < 20; i++) {
        if (fork() == 0) {
            churn(NULL);
            _exit(0);
        }
        if (wait(&status) < 0 || status != 0)
            abort();
    }
    for (int i = 0; i < 4; i++)
        pthread_join(id[i], NULL);
}

static volatile sig_atomic_t n_forks;

static void fork_in_handler(int unused)
{
    int status = 0;
    (void)unused;
    if (fork() == 0)
        _exit(5);
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
        abort();
    n_forks++;
}

/* A handler that forks interrupts allocations. */
static void handler(void)
{
    const struct itimerval often = {{0, 1000}, {0, 1000}};
    signal(SIGALRM, fork_in_handler);
    setitimer(ITIMER_REAL, &often, NULL);
    while (n_forks < 100) {
        free(malloc(8192));
        free(malloc(1 << 20));
    }
}

static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;

static void lock_program(void)
{
    pthread_mutex_lock(&program_lock);
}

static void unlock_program(void)
{
    pthread_mutex_unlock(&program_lock);
}

static void *allocate_under_lock(void *is_over)
{
    while (!atomic_load((atomic_bool *)is_over)) {
        lock_program();
        free(malloc(64));
        free(malloc(8192));
        free(malloc(1 << 20));
        unlock_program();
    }
    return NULL;
}

/* Handlers of fork take a lock of the program's, under which another thread allocates. They are registered before the
 * program's first allocation, as those of a library of its could be. */
static void orders(void)
{
    static atomic_bool is_over;
    pthread_t id;
    pthread_atfork(lock_program, unlock_program, unlock_program);
    pthread_create(&id, NULL, allocate_under_lock, &is_over);
    for (int i = 0; i < 200; i++)
        fork_in_handler(0);
    atomic_store(&is_over, true);
    pthread_join(id, NULL);
}

static pthread_barrier_t barrier;

static int wait_in_loader(struct dl_phdr_info *object, size_t size, void *unused)
{
    (void)object;
    (void)size;
    (void)unused;
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return 1;
}

static void *hold(void *unused)
{
    dl_iterate_phdr(wait_in_loader, unused);
    return NULL;
}

/* A program forks while a thread of it has the loader's lock, which the child then has for ever. */
static void loader(void)
{
    pthread_t id;
    int status = 0;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&id, NULL, hold, NULL);
    pthread_barrier_wait(&barrier);
    if (fork() == 0) {
        free(caller_0());
        free(xmalloc(8192));
        _exit(5);
    }
    if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 5)
        abort();
    pthread_barrier_wait(&barrier);
    pthread_join(id, NULL);
}

static void fork_in_fork(void)
{
    static bool is_inner;
    if (is_inner)
        return;
    is_inner = true;
    fork_in_handler(0);
    is_inner = false;
}

/* A program forks while it forks, as in a handler of a signal then. Memory that was freed is used again after that. */
static void nests(void)
{
    pthread_atfork(fork_in_fork, NULL, NULL);
    char *memory = xmalloc(8192);
    fork_in_handler(0);
    uintptr_t before = (uintptr_t)memory;
    free(memory);
    if ((uintptr_t)xmalloc(8192) != before)
        abort();
}

static const struct command commands[] = {
    {"threads", threads}, {"forks", forks},   {"churns", churns}, {"handler", handler},
    {"orders", orders},   {"loader", loader}, {"nests", nests},   {NULL},
};

int main(int argc, char **argv)
{
    (void)argc;
    return run_command(commands, argv + 1);
}
