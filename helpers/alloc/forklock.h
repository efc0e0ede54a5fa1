/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that is held over fork, so that the child finds whole what it guards. It knows its thread at any moment, also
 * in a signal handler and in the child: a thread that forks in a handler, which has interrupted its own use of the
 * lock, does not wait for itself. Calls no malloc, keeps errno, and is no place where a thread is cancelled.
 */
#ifndef HM_ALLOC_FORKLOCK_H
#define HM_ALLOC_FORKLOCK_H

#include <stdatomic.h>
#include <stdbool.h>

/* Zeros: it is free. */
struct hm_forklock {
    atomic_uint word;      /* 0: free; else twice the number of its thread, plus 1 where others wait */
    atomic_uint n_forks;   /* of its thread, which hold it */
    atomic_uint n_skipped; /* of its thread, in a handler that interrupted its use */
    atomic_bool is_used;   /* in a fork that holds it */
};

/* Waits for the lock. False: this thread uses it already, as the caller is in a signal handler. What the lock guards is
 * then not whole, and must not be changed; hm_forklock_give must not follow. */
bool hm_forklock_take(struct hm_forklock *lock);
void hm_forklock_give(struct hm_forklock *lock);

/* To be called around fork. Between the two, the thread may take the lock. The last two return whether what is guarded
 * is whole. In a child where it is not, it will be when the handler returns. */
void hm_forklock_begin_fork(struct hm_forklock *lock);
bool hm_forklock_end_fork(struct hm_forklock *lock);
bool hm_forklock_end_fork_in_child(struct hm_forklock *lock);

/* What is called around fork, as pthread_atfork has it; NULL: nothing. */
struct hm_fork_handlers {
    void (*before)(void), (*after)(void), (*in_child)(void);
};

#endif
