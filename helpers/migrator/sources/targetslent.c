/* SPDX-License-Identifier: Apache-2.0 */
/* Watches threads by events that a broker lends: it is asked for those of new threads, and the answer is taken at a
 * later update, so that nothing waits for it. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "perfwatchparts.h"

/* The threads of a process that may be added to the next question: after `after`, and not after `last`. */
struct span {
    struct hm_lent *lent;
    pid_t after, last;
};

/* Adds a thread. Returns false where the question is full. */
static bool add_thread(void *data, pid_t pid, int thread)
{
    const struct span *span = data;
    return thread <= span->after || thread > span->last || hm_lent_add(span->lent, pid, thread);
}

/* Fills the next question, from where the last one ended, once around. */
static void gather(struct hm_lent *lent, const struct hm_ranks *ranks, const int *known, size_t n_known)
{
    uint32_t n = ranks->n, begun = n > 0 ? lent->turn % n : 0;
    pid_t after = lent->after;
    bool has_room = true;
    lent->asked.head.n = 0;
    for (uint32_t i = 0; has_room && n > 0 && i <= n; i++) {
        uint32_t space = (begun + i) % n;
        if (!hm_ranks_is_there(ranks, space))
            continue;
        struct span span = {lent, i == 0 ? after : 0, i == n ? after : INT_MAX};
        has_room = hm_perf_visit_new(ranks->rank[space].pid, known, n_known, add_thread, &span);
        if (!has_room) {
            lent->turn = space;
            lent->after = lent->asked.thread[HM_DAMON_THREADS - 1].tid;
        }
    }
}

/* Asks for the events of the threads that have none. Returns 0, or -1 with a text. */
static int ask(struct hm_perf_watched *watch, const struct hm_ranks *ranks, struct hm_error *error)
{
    struct hm_lent *lent = &watch->lent;
    int *known = hm_perf_list_targets(watch);
    if (!known)
        return hm_fail(error, ENOMEM, "out of memory");
    gather(lent, ranks, known, watch->n);
    free(known);
    return lent->asked.head.n > 0 ? hm_lent_ask(lent, error) : 0;
}

/* Takes the answer, if it is there. Returns 0, or -1 with a text. */
static int take(struct hm_perf_watched *watch, const struct hm_ranks *ranks, struct hm_error *error)
{
    struct hm_lent *lent = &watch->lent;
    int status = hm_lent_take(lent, error);
    uint32_t n = status > 0 ? lent->asked.head.n : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct hm_perf_target target = {
            .pid = lent->pid[i], .number = lent->asked.thread[i].tid, .lent = lent->event[i]};
        if (target.lent < 0 || hm_perf_add(watch, &target) == 0)
            continue;
        lent->n_refused++;
        hm_fail_errno(&lent->why, "thread %d cannot be watched", target.number);
    }
    if (status != 0) {
        hm_perf_mark_unseen(watch, ranks);
        hm_perf_note_short(watch, ranks, status < 0 ? error->text : lent->n_refused > 0 ? lent->why.text : NULL);
    }
    if (status > 0 && lent->n_refused == n) /* where only some are to wait, they are asked for again, too */
        return hm_fail(error, lent->n_waiting > 0 ? EBUSY : EPERM, "no lent event can be used: %s", lent->why.text);
    return status < 0 ? -1 : 0;
}

int hm_perf_update_lent(struct hm_perf_watched *watch, const struct hm_ranks *ranks, struct hm_error *error)
{
    struct hm_error why = {""};
    int status = 0;
    hm_perf_drop_gone(watch, ranks);
    hm_perf_mark_new(watch, ranks);
    if (watch->lent.fd >= 0)
        status = take(watch, ranks, &why);
    if (status == 0 && hm_lent_may_ask(&watch->lent))
        status = ask(watch, ranks, &why);
    /* What may pass is tried again (lent.h), and so are new threads where others are watched. */
    if (status == 0 || watch->n > 0 || (errno != EPERM && errno != ECONNREFUSED && errno != ENOENT))
        return 0;
    return hm_fail(error, errno, "%s", why.text);
}
