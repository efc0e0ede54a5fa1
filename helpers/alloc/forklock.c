/* SPDX-License-Identifier: Apache-2.0 */
#include "forklock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AWAITED 1U

/* The word of a lock that this thread has. It is the thread's number and not its id, as a child has another id. */
static unsigned own_word(void)
{
    static atomic_uint n_threads;
    static _Thread_local unsigned word;
    while (word == 0)
        word = (atomic_fetch_add(&n_threads, 1) + 1) << 1;
    return word;
}

static bool is_mine(struct hm_forklock *lock)
{
    return (atomic_load(&lock->word) & ~AWAITED) == own_word();
}

static void sleep_on(struct hm_forklock *lock, unsigned word)
{
    int number = errno;
    syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, word, NULL, NULL, 0);
    errno = number;
}

/* After it has waited, a thread takes the lock as one for which others wait: it cannot tell whether there are any. */
static void lock_it(struct hm_forklock *lock)
{
    unsigned word = 0, mine = own_word();
    if (atomic_compare_exchange_strong(&lock->word, &word, mine))
        return;
    for (;; word = atomic_load(&lock->word)) {
        if (word == 0 && atomic_compare_exchange_strong(&lock->word, &word, mine | AWAITED))
            return;
        if (word != 0 && ((word & AWAITED) || atomic_compare_exchange_strong(&lock->word, &word, word | AWAITED)))
            sleep_on(lock, word | AWAITED);
    }
}

static void unlock_it(struct hm_forklock *lock)
{
    int number = errno;
    if (atomic_exchange(&lock->word, 0) & AWAITED)
        syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = number;
}

bool hm_forklock_take(struct hm_forklock *lock)
{
    if (!is_mine(lock))
        lock_it(lock);
    else if (atomic_load(&lock->n_forks) == 0 || atomic_load(&lock->is_used))
        return false;
    atomic_store_explicit(&lock->is_used, true, memory_order_relaxed);
    return true;
}

void hm_forklock_give(struct hm_forklock *lock)
{
    atomic_store_explicit(&lock->is_used, false, memory_order_relaxed);
    if (atomic_load(&lock->n_forks) == 0)
        unlock_it(lock);
}

void hm_forklock_begin_fork(struct hm_forklock *lock)
{
    if (!is_mine(lock)) {
        lock_it(lock);
        atomic_store(&lock->n_forks, 1);
    } else if (atomic_load(&lock->n_forks) > 0) {
        atomic_fetch_add(&lock->n_forks, 1);
    } else {
        atomic_fetch_add(&lock->n_skipped, 1);
    }
}

/* Where the handlers of fork were registered while this thread forked, it may not have the lock. */
bool hm_forklock_end_fork(struct hm_forklock *lock)
{
    if (!is_mine(lock))
        return false;
    if (atomic_load(&lock->n_skipped) > 0) {
        atomic_fetch_sub(&lock->n_skipped, 1);
        return false;
    }
    if (atomic_load(&lock->n_forks) > 0 && atomic_fetch_sub(&lock->n_forks, 1) == 1)
        unlock_it(lock);
    return true;
}

/* Another thread that has the lock is one of the parent. */
bool hm_forklock_end_fork_in_child(struct hm_forklock *lock)
{
    if (!is_mine(lock))
        atomic_store(&lock->word, 0);
    return hm_forklock_end_fork(lock);
}
