/* SPDX-License-Identifier: Apache-2.0 */
/* A process of the job that tests/bench/day simulates: maps and unmaps memory, starts and ends threads, as it is
 * ordered (dayorder.h). Its standard input is a socket, from which it reads the orders and to which it writes the
 * answers. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dayorder.h"

struct thread {
    pthread_t thread;
    sem_t end, started;
    pid_t id;
};

static void *idle(void *data)
{
    struct thread *thread = data;
    thread->id = (pid_t)syscall(SYS_gettid);
    sem_post(&thread->started);
    while (sem_wait(&thread->end) != 0 && errno == EINTR)
        continue;
    return NULL;
}

/* Start a thread. Returns its number, or -1. */
static int start_thread(struct thread *thread)
{
    if (sem_init(&thread->end, 0, 0) != 0 || sem_init(&thread->started, 0, 0) != 0 ||
        pthread_create(&thread->thread, NULL, idle, thread) != 0)
        return -1;
    while (sem_wait(&thread->started) != 0 && errno == EINTR)
        continue;
    return thread->id;
}

static int end_thread(struct thread *thread)
{
    return sem_post(&thread->end) == 0 && pthread_join(thread->thread, NULL) == 0 ? thread->id : -1;
}

static int map_all(const struct order *order)
{
    for (uint64_t at = 0; at < order->bytes; at += order->step)
        if (mmap((void *)(uintptr_t)(order->address + at), order->piece, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
            return -1;
    return 0;
}

int main(void)
{
    static struct thread threads[DAY_THREADS];
    unsigned n = 0;
    struct order order;
    while (read(STDIN_FILENO, &order, sizeof(order)) == sizeof(order)) {
        int result = -1;
        if (order.kind == ORDER_MAP)
            result = map_all(&order);
        else if (order.kind == ORDER_UNMAP)
            result = munmap((void *)(uintptr_t)order.address, order.bytes);
        else if (order.kind == ORDER_THREAD && n < DAY_THREADS)
            result = start_thread(&threads[n++]);
        else if (order.kind == ORDER_JOIN && n > 0)
            result = end_thread(&threads[--n]);
        if (write(STDIN_FILENO, &result, sizeof(result)) != sizeof(result))
            break;
    }
    return 0;
}
