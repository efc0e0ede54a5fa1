/* SPDX-License-Identifier: Apache-2.0 */
#include "lease.h"

#include <errno.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "send.h"
#include "target.h"

#define SECOND_NS UINT64_C(1000000000)
#define FIRST_TUNE_LISTS 2         /* lists for each process that a measurement of the cost needs */
#define TUNE_NS (5 * SECOND_NS)    /* time between two measurements of the cost */
#define UNUSED_NS (60 * SECOND_NS) /* how long a client without a process keeps a kdamond after its last message */

void hm_damon_lease_open(struct hm_damon_lease *lease, uint32_t client, int fd, const struct hm_damon_peer *peer)
{
    *lease = (struct hm_damon_lease){.client = client,
                                     .fd = fd,
                                     .peer = *peer,
                                     .since_ns = hm_clock_ns(CLOCK_MONOTONIC),
                                     .kdamond = -1,
                                     .tracepoint = {.fd = -1}};
}

/* Reads the thread's CPU time. If the thread has ended, the value that was read last stays. */
static void look_at_thread(struct hm_damon_lease *lease)
{
    uint64_t seen = lease->thread > 0 ? hm_damon_cpu_ns(lease->thread) : 0;
    lease->thread_cpu_ns = seen > lease->thread_cpu_ns ? seen : lease->thread_cpu_ns;
}

/* Turns the thread off and closes the descriptors of its processes. The kdamond stays lent to the client. */
static void stop(struct hm_damon_lease *lease)
{
    if (lease->thread > 0) {
        look_at_thread(lease);
        lease->past_cpu_ns = hm_damon_lease_cpu_ns(lease);
        hm_damon_stop((unsigned)lease->kdamond);
    }
    lease->thread = 0;
    lease->thread_cpu_ns = 0;
    lease->unsent += (uint32_t)lease->tracepoint.lost;
    hm_damon_tracepoint_close(&lease->tracepoint);
    for (uint32_t i = 0; i < lease->n; i++)
        close(lease->pidfd[i]);
    lease->n = 0;
    lease->is_lost = false;
}

static void begin_measuring(struct hm_damon_lease *lease)
{
    lease->set_ns = hm_clock_ns(CLOCK_MONOTONIC);
    lease->set_cpu_ns = hm_damon_lease_cpu_ns(lease);
    lease->n_lists = 0;
    lease->accessed_bytes = lease->touched_bytes = 0;
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

static int start(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    lease->thread =
        hm_damon_start((unsigned)lease->kdamond, &broker->owned, &lease->settings, lease->target, lease->n, error);
    bool has_failed = lease->thread < 0;
    lease->thread = has_failed ? 0 : lease->thread;
    if (!hm_damon_targets_live(lease->pidfd, lease->n))
        return hm_fail(error, ESRCH, "a process ended while its watch began");
    if (has_failed)
        return -1;
    if (hm_damon_tracepoint_open(&lease->tracepoint, &broker->layout, lease->thread, error) != 0)
        return -1;
    begin_measuring(lease);
    return 0;
}

/* The budget that the client may have now. It falls as the client's user gets more kdamonds. */
static uint32_t budget(const struct hm_damon_broker *broker, const struct hm_damon_lease *lease)
{
    cpu_set_t cpus[8]; /* 8192 CPUs: the call fails where the kernel has more than there is room for */
    /* It also fails where the process that connected has ended, and another one has its connection now. Then the
     * budget is the least one. */
    bool is_known = sched_getaffinity(lease->peer.pid, sizeof(cpus), cpus) == 0;
    unsigned n_cpus = is_known ? (unsigned)CPU_COUNT_S(sizeof(cpus), cpus) : 0;
    return hm_damon_pool_budget(&broker->pool, lease->peer.owner, n_cpus, lease->wanted_budget);
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

static int lend(struct hm_damon_broker *broker, struct hm_damon_lease *lease, struct hm_error *error)
{
    if (broker->problem.text[0])
        return hm_fail(error, ENODEV, "%s", broker->problem.text);
    if (hm_damon_check_kernel(error) != 0 || own_some(broker, error) != 0)
        return -1;
    broker->pool.n = broker->owned.n < HM_DAMON_KDAMONDS ? broker->owned.n : HM_DAMON_KDAMONDS;
    lease->kdamond = hm_damon_pool_lend(&broker->pool, lease->client, lease->peer.owner, error);
    return lease->kdamond < 0 ? -1 : 0;
}

static int watch(struct hm_damon_broker *broker, struct hm_damon_lease *lease, const struct hm_damon_watch *wanted,
                 struct hm_error *error)
{
    uint32_t n_before = lease->needs.n_processes;
    stop(lease);
    lease->generation = wanted->head.generation;
    if (lend(broker, lease, error) != 0 || take_targets(lease, wanted, error) != 0)
        return -1;
    lease->wanted_budget = wanted->budget;
    lease->needs = (struct hm_damon_needs){
        .interval_ms = wanted->interval_ms, .budget = budget(broker, lease), .n_processes = lease->n};
    for (uint32_t i = 0; i < lease->n; i++)
        lease->needs.n_ranges += lease->target[i].n_ranges;
    if (lease->n == 0)
        return 0;
    if (lease->n > n_before || lease->n * 2 < n_before) {
        lease->settings = hm_damon_tune_first(&lease->needs);
        lease->is_tuned = false;
    } else { /* what was measured of these processes holds; their ranges may have changed */
        hm_damon_tune_min(&lease->needs, &lease->settings);
    }
    return start(broker, lease, error);
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
    if (hm_damon_wire_check_watch(&message, (size_t)size, &error) != 0) {
        hm_damon_lease_answer(lease, EBADMSG, error.text);
        return false;
    }
    if (watch(broker, lease, &message.watch, &error) == 0)
        return hm_damon_lease_answer(lease, 0, "");
    int number = errno ? errno : EIO;
    stop(lease);
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

/* Is it time to compare the cost with the budget? At first this is soon, as the first settings are a guess. */
static bool is_due(const struct hm_damon_lease *lease, uint64_t passed_ns)
{
    return lease->n_lists >= (uint64_t)FIRST_TUNE_LISTS * lease->n &&
           passed_ns >= (lease->is_tuned ? TUNE_NS : SECOND_NS);
}

/*
 * Changes the settings of a running kdamond. The kernel answers at the end of an aggregation, and all clients wait
 * until then. So the next change, for any client, comes after a pause of the same length, in which clients are served.
 */
static int change(struct hm_damon_broker *broker, const struct hm_damon_lease *lease,
                  const struct hm_damon_settings *better)
{
    uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    int result = hm_damon_change((unsigned)lease->kdamond, better, NULL);
    uint64_t ended_ns = hm_clock_ns(CLOCK_MONOTONIC);
    broker->change_ns = ended_ns + (ended_ns - begun_ns);
    return result;
}

static void tune(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    struct hm_damon_settings better = lease->settings;
    uint64_t passed_ns = hm_clock_ns(CLOCK_MONOTONIC) - lease->set_ns;
    if (!is_due(lease, passed_ns) || hm_clock_ns(CLOCK_MONOTONIC) < broker->change_ns)
        return;
    struct hm_damon_measured measured = {
        .cpu_s = (double)(hm_damon_lease_cpu_ns(lease) - lease->set_cpu_ns) / SECOND_NS,
        .wall_s = (double)passed_ns / SECOND_NS,
        .accessed = lease->touched_bytes > 0 ? lease->accessed_bytes / lease->touched_bytes : -1};
    lease->needs.budget = budget(broker, lease);
    bool is_better = hm_damon_tune(&lease->needs, &measured, &better);
    lease->is_tuned = true;
    /* On a change the kernel looks up the processes by their numbers again. That is safe only while they live. */
    if (is_better && hm_damon_targets_live(lease->pidfd, lease->n) && change(broker, lease, &better) == 0) {
        /* the lists that are waiting were made under the old settings */
        hm_damon_tracepoint_read(&lease->tracepoint, &broker->layout, hm_damon_lease_send, lease);
        lease->settings = better;
        if (!hm_damon_targets_live(lease->pidfd, lease->n))
            stop(lease);
    }
    begin_measuring(lease);
}

/* Ends the watch of all processes. The client is told that one is gone, and names those that it may watch now. */
static void let_go(struct hm_damon_lease *lease)
{
    stop(lease);
    hm_damon_lease_answer(lease, ESRCH, "a watched process does not belong to the client's user any more");
}

bool hm_damon_lease_work(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    uint64_t before = hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    bool was_on = lease->thread > 0;
    look_at_thread(lease);
    hm_damon_tracepoint_read(&lease->tracepoint, &broker->layout, hm_damon_lease_send, lease);
    if (lease->thread > 0 && !lease->is_lost)
        tune(broker, lease);
    if (lease->is_lost)
        let_go(lease);
    if (lease->n == 0 && lease->kdamond >= 0 && hm_clock_ns(CLOCK_MONOTONIC) - lease->asked_ns > UNUSED_NS) {
        hm_damon_pool_take_back(&broker->pool, lease->client);
        lease->kdamond = -1;
    }
    lease->broker_cpu_ns += hm_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before;
    return was_on && lease->thread == 0;
}

int hm_damon_lease_wait_ms(const struct hm_damon_lease *lease)
{
    return lease->thread > 0 ? (int)(lease->settings.look_us / 1000 * HM_DAMON_LOOKS) : -1;
}

void hm_damon_lease_close(struct hm_damon_broker *broker, struct hm_damon_lease *lease)
{
    stop(lease);
    hm_damon_pool_take_back(&broker->pool, lease->client);
    close(lease->fd);
    if (lease->peer.pidfd >= 0)
        close(lease->peer.pidfd);
    *lease = (struct hm_damon_lease){.fd = -1, .kdamond = -1, .tracepoint = {.fd = -1}};
}
