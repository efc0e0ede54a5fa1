/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the CPU's clock that the broker lends (damon/broker/lend.h), for users who may open none. Each question has
 * a connection of its own, as the broker has few places.
 */
#ifndef HM_MIGRATOR_SOURCES_LENT_H
#define HM_MIGRATOR_SOURCES_LENT_H

#include <sys/types.h>

#include "brokerlink.h"
#include "retry.h"

struct hm_lent {
    char broker[256]; /* path of its socket */
    int fd;           /* the connection; -1: nothing is asked */
    uint64_t asked_ns;
    struct hm_retry retry;
    uint32_t n_refused;  /* threads of the last answer that got no event, though they live */
    uint32_t n_waiting;  /* those of them that may get one later: the broker lends no more for now */
    struct hm_error why; /* of the last that was refused; "": none was */
    struct hm_damon_borrow asked;
    pid_t pid[HM_DAMON_THREADS]; /* processes of the threads that are asked for */
    int event[HM_DAMON_THREADS]; /* of the last answer; -1: none for this thread */
    /* Where the next question begins: after this thread of the process of this space. Else threads that are refused
     * each time would fill all questions. */
    uint32_t turn;
    pid_t after;
};

void hm_lent_init(struct hm_lent *lent, const char *broker);
/* May something be asked now? At most once a second, and less often while the broker lends nothing. */
bool hm_lent_may_ask(const struct hm_lent *lent);
/* Adds a thread of a process to the next question. Returns false where that has no room; a thread that has ended is
 * left out. */
bool hm_lent_add(struct hm_lent *lent, pid_t pid, pid_t tid);
/* Asks for the events of the threads that were added. Does not wait. Returns 0, or -1 with a text. */
int hm_lent_ask(struct hm_lent *lent, struct hm_error *error);
/*
 * Takes the answer, if it is there. Returns 1: `event` has an event or -1 for each of asked.head.n threads, and each is
 * the caller's to close; 0: there is no answer yet; -1 with a text: there will be none (EPERM: the broker lends this
 * process nothing).
 */
int hm_lent_take(struct hm_lent *lent, struct hm_error *error);
/* Returns an event of the calling thread, or -1 with a text. Waits, until `stop` is readable. */
int hm_lent_own(const char *broker, int stop, struct hm_error *error);
void hm_lent_close(struct hm_lent *lent);

#endif
