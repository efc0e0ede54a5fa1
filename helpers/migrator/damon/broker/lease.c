/* SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "burst.h"
#include "lend.h"
#include "send.h"
#include "steady.h"
#include "target.h"
#include "thread.h"
#include "unread.h"

#define SECOND_NS UINT64_C(1000000000)
#define UNUSED_NS (60 * SECOND_NS) /* how long a client without a process keeps a kdamond after its last message */

void hm_damon_lease_open(struct hm_damon_lease *lease, uint32_t client, int fd, const struct hm_damon_peer *peer)
{
    *lease = (struct hm_damon_lease){.client = client,
                                     .fd = fd,
                                     .peer = *peer,
                                     .since_ns = hm_clock_ns(CLOCK_MONOTONIC),
                                     .kdamond = -1,
                                     .tracepoint = {.fd = -1}};
    lease->bursts.paid_ns = lease->since_ns;
    lease->bursts.probing.random.state = lease->since_ns ^ client;
}

/* Turns the kdamond off, and takes its targets away. Returns 0, or -1 if it may still be on. */
static int turn_off(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    if (hm_damon_thread_end(broker, lease) != 0)
        return -1;
    hm_damon_thread_forget(broker, lease);
    return 0;
}

/* Turns the kdamond off, if possible, and closes the descriptors of the processes. The kdamond stays lent to the
 * client. */
static void stop(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    if (lease->kdamond >= 0 && (lease->n > 0 || lease->thread > 0))
        turn_off(broker, lease);
    for (uint32_t i = 0; i < lease->n; i++)
        close(lease->pidfd[i]);
    lease->n = 0;
    lease->is_lost = false;
}

/* Opens the processes that the client names. Returns 0, or -1 if it may not watch one of them. */
static int take_targets(struct hm_damon_lease *lease, const struct hm_damon_watch *watch, struct hm_error *error)
{
    for (uint32_t i = 0; i < watch->head.n; i++) {
        int pidfd = hm_damon_target_open(&watch->process[i], lease->peer.uid, error);
        if (pidfd < 0 && errno == ESRCH)
            continue;
        if (pidfd >= 0 && !hm_damon_targets_live(&pidfd, 1)) { /* a zombie: it has no memory any more */
            close(pidfd);
            continue;
        }
        if (pidfd < 0)
            return -1;
        lease->target[lease->n] = watch->process[i];
        lease->index[lease->n] = i;
        lease->pidfd[lease->n++] = pidfd;
    }
    return 0;
}

/*
 * Makes sure that there are kdamonds to lend. Those of an earlier broker are taken over first: at the start the kernel
 * may have been too busy to tell whether they are ours.
 */
static int own_some(struct hm_damon_broker *broker, struct hm_error *error)
{
    if (broker->owned.n > 0)
        return 0;
    if (hm_damon_take_over(broker->state_path, &broker->owned, error) != 0)
        return -1;
    return broker->owned.n > 0 ? 0 : hm_damon_create(broker->state_path, broker->n_wanted, &broker->owned, error);
}

/* Makes sure that there is something to look with. Clients of the idle bitmap share it as others share kdamonds. */
static int provide(struct hm_damon_broker *broker, const struct hm_damon_lease *lease, struct hm_error *error)
{
    const struct hm_error *problem = lease->by_bitmap ? &broker->no_idle : &broker->problem;
    if (problem->text[0])
        return hm_fail(error, ENODEV, "%s", problem->text);
    if (!lease->by_bitmap && (hm_damon_check_kernel(error) != 0 || own_some(broker, error) != 0))
        return -1;
    unsigned n = broker->owned.n > 0 ? broker->owned.n : broker->n_wanted;
    broker->pool.n = n < HM_DAMON_KDAMONDS ? n : HM_DAMON_KDAMONDS;
    return 0;
}

static int lend(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    if (provide(broker, lease, error) != 0)
        return -1;
    lease->kdamond = hm_damon_pool_lend(&broker->pool, lease->client, lease->peer.owner, error);
    return lease->kdamond < 0 ? -1 : 0;
}

static int watch(struct hm_damon_broker *broker, struct hm_damon_lease *lease, const struct hm_damon_watch *wanted,
                 struct hm_error *error)
{
    uint32_t n_before = lease->needs.n_processes;
    stop(broker, lease);
    lease->generation = wanted->head.generation;
    if (lease->thread > 0)
        return hm_fail(error, EBUSY, "cannot turn a kdamond off: somebody keeps DAMON's files busy");
    lease->by_bitmap = wanted->looker == HM_DAMON_BY_BITMAP;
    if (lend(broker, lease, error) != 0 || take_targets(lease, wanted, error) != 0)
        return -1;
    lease->wanted_budget = wanted->budget;
    lease->needs = (struct hm_damon_needs){.interval_ms = wanted->interval_ms, .n_processes = lease->n};
    for (uint32_t i = 0; i < lease->n; i++)
        lease->needs.n_ranges += lease->target[i].n_ranges;
    if (lease->n == 0)
        return 0;
    /* Each block of a burst is looked at by itself. So what bursts must learn of one more process is only its own. */
    uint32_t most = lease->is_bursting ? 2 * n_before : n_before;
    bool is_new = lease->n > most || lease->n * 2 < n_before;
    lease->is_bursting = lease->by_bitmap || (lease->is_bursting && !is_new);
    if (!lease->is_bursting)
        return hm_damon_steady_begin(broker, lease, is_new, error);
    hm_damon_burst_prepare(broker, lease);
    return 0;
}

static bool serve(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    union hm_damon_message message;
    struct hm_error error = {{0}};
    ssize_t size = recv(lease->fd, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (size <= 0)
        return false;
    lease->asked_ns = hm_clock_ns(CLOCK_MONOTONIC);
    bool borrows = hm_damon_wire_is_borrow(&message, (size_t)size);
    if ((borrows ? hm_damon_wire_check_borrow : hm_damon_wire_check_watch)(&message, (size_t)size, &error) != 0) {
        hm_damon_lease_answer(lease, EBADMSG, error.text);
        return false;
    }
    if (borrows)
        return hm_damon_lend(broker, lease, &message.borrow);
    if (watch(broker, lease, &message.watch, &error) == 0)
        return hm_damon_lease_answer(lease, 0, "");
    int number = errno ? errno : EIO;
    stop(broker, lease);
    return hm_damon_lease_answer(lease, number, error.text);
}

bool hm_damon_lease_serve(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    uint64_t before = hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    bool is_there = serve(broker, lease);
    lease->served_ns = hm_clock_ns(CLOCK_MONOTONIC) - begun_ns;
    lease->broker_cpu_ns += hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
    return is_there;
}

/* Ends the watch of all processes. The client is told that one is gone, and names those that it may watch now. */
static void let_go(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    stop(broker, lease);
    hm_damon_lease_answer(lease, ESRCH, "a watched process does not belong to the client's user any more");
}

/* Looks in bursts from now on, or all the time again, if that tells more. Returns 0, or -1 with a text. */
static int change_over(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    if (lease->by_bitmap)
        return 0;
    bool is_over = lease->is_bursting ? hm_damon_burst_is_calm(lease) : hm_damon_steady_is_blind(lease);
    if (!is_over)
        return 0;
    if (turn_off(broker, lease) != 0)
        return 0;
    /* The kernel looks up the processes by their numbers. That is safe only while they live. */
    if (!hm_damon_targets_live(lease->pidfd, lease->n))
        return hm_fail(error, ESRCH, "a watched process has ended");
    lease->is_bursting = !lease->is_bursting;
    if (!lease->is_bursting)
        return hm_damon_steady_begin(broker, lease, true, error);
    hm_damon_burst_prepare(broker, lease);
    return 0;
}

static int look(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    int result =
        lease->is_bursting ? hm_damon_burst_work(broker, lease, error) : hm_damon_steady_work(broker, lease, error);
    return result != 0 || lease->is_lost ? result : change_over(broker, lease, error);
}

bool hm_damon_lease_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    struct hm_error error = {{0}};
    uint64_t before = hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    bool was_on = lease->n > 0;
    if (lease->n > 0 && look(broker, lease, &error) != 0) { /* the client is told why, and takes another source */
        int number = errno ? errno : EIO;
        stop(broker, lease);
        hm_damon_lease_answer(lease, number, error.text);
    }
    if (lease->is_lost)
        let_go(broker, lease);
    if (lease->n == 0 && lease->thread > 0)
        turn_off(broker, lease);
    if (lease->n == 0 && lease->thread == 0 && lease->kdamond >= 0 &&
        hm_clock_ns(CLOCK_MONOTONIC) - lease->asked_ns > UNUSED_NS) {
        hm_damon_pool_take_back(&broker->pool, lease->client);
        lease->kdamond = -1;
    }
    lease->broker_cpu_ns += hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
    return was_on && lease->n == 0;
}

int hm_damon_lease_wait_ms(const struct hm_damon_lease *lease)
{
    if (lease->n == 0)
        return -1;
    return lease->is_bursting ? hm_damon_burst_wait_ms(lease) : hm_damon_steady_wait_ms(lease);
}

void hm_damon_lease_close(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    /* A last try: if it fails, the kdamond is turned off when it is lent again, or the broker ends. */
    lease->off_ns = 0;
    stop(broker, lease);
    hm_damon_tracepoint_close(&lease->tracepoint);
    hm_damon_pool_take_back(&broker->pool, lease->client);
    hm_damon_debts_note(&broker->debts, &lease->peer, lease->bursts.owed_s);
    if (lease->is_lent)
        hm_damon_unread_close(broker, lease->fd, lease->peer.owner);
    else
        close(lease->fd);
    if (lease->peer.pidfd >= 0)
        close(lease->peer.pidfd);
    *lease = (struct hm_damon_lease){.fd = -1, .kdamond = -1, .tracepoint = {.fd = -1}};
}
