/* SPDX-License-Identifier: Apache-2.0 */
#include "lend.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/perfopen.h"
#include "base/process.h"
#include "caps.h"
#include "lentlist.h"
#include "migrator/perf/attr.h"
#include "send.h"
#include "target.h"
#include "unread.h"

#define STATUS 8192       /* bytes of /proc/TID/status up to its capabilities; more groups than fit here are refused */
#define PATIENCE_US 50000 /* how long opening an event may wait for another thread that executes a program */

/* The descriptors of one message. */
union lent_control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(HM_DAMON_THREADS * sizeof(int))];
};

/* Are all ids of the thread the client's, and has it no capabilities? Then the client's user may trace it. */
static bool has_its_rights(const struct hm_damon_peer *peer, pid_t tid)
{
    char text[STATUS];
    uid_t uid[4];
    gid_t gid[4];
    unsigned long long permitted;
    if (hm_process_read(tid, "status", text, sizeof(text)) != 0 || hm_process_parse_uids(text, uid) != 0)
        return false;
    const char *groups = strstr(text, "\nGid:"), *capabilities = strstr(text, "\nCapPrm:");
    if (!groups || sscanf(groups, " Gid: %u %u %u %u", &gid[0], &gid[1], &gid[2], &gid[3]) != 4 || !capabilities ||
        sscanf(capabilities, " CapPrm: %llx", &permitted) != 1 || permitted != 0)
        return false;
    for (int i = 0; i < 4; i++)
        if (uid[i] != peer->uid || gid[i] != peer->gid)
            return false;
    return true;
}

static struct hm_process named(const struct hm_damon_thread *thread)
{
    return (struct hm_process){.pid = thread->tid, .start_time = thread->start_time};
}

int hm_damon_lend_judge(const struct hm_damon_peer *peer, const struct hm_damon_thread *thread)
{
    const struct hm_process process = named(thread);
    if (!hm_process_is_running(&process))
        return ESRCH;
    if (hm_damon_target_check(thread->tid, peer->uid) != 0)
        return errno;
    if (!has_its_rights(peer, thread->tid))
        return EPERM;
    return hm_damon_peer_shares_step(peer, thread->tid) ? 0 : EACCES;
}

static void wake(int number)
{
    (void)number;
}

/*
 * Opens the event, or returns -1 with errno. The kernel waits while a thread of the process executes a program, and its
 * user can make that last for ever: by a file in a FUSE of theirs that the kernel closes then. A signal ends this wait.
 * It comes again and again, as the first one may come before the wait begins.
 */
static int open_in_time(const struct perf_event_attr *attr, pid_t tid)
{
    const struct itimerval none = {.it_value.tv_sec = 0};
    const struct itimerval often = {.it_interval.tv_usec = PATIENCE_US, .it_value.tv_usec = PATIENCE_US};
    const struct sigaction waking = {.sa_handler = wake};
    struct sigaction before;
    if (sigaction(SIGALRM, &waking, &before) != 0 || setitimer(ITIMER_REAL, &often, NULL) != 0)
        return -1;
    hm_damon_caps_raise();
    int event = hm_perf_open(attr, tid, -1, 0);
    hm_damon_caps_lower();
    int number = errno;
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    errno = number;
    return event;
}

/* The answer's errno for a thread whose event could not be opened. Those of hm_damon_lend_judge say what is wrong with
 * the thread, so a broker that lacks the right itself must not say them. */
static int explain(int number)
{
    return number == EINTR ? EAGAIN : number == EACCES || number == EPERM ? ENOTSUP : number;
}

/*
 * Opens the event of a thread. It is judged again when it is open: a thread with this number and start time is then the
 * one that has the event, or that one has ended. The event is off meanwhile, so nothing is told of a program with other
 * rights that came and went between the two. Returns 0, or an errno.
 */
static int open_event(struct hm_damon_broker *broker, const struct hm_damon_peer *peer,
                      const struct hm_damon_thread *thread, int *event)
{
    const struct hm_process process = named(thread);
    struct perf_event_attr attr;
    int number = hm_damon_lend_judge(peer, thread);
    if (number == 0)
        number = hm_damon_lentlist_check(broker, &process, peer->owner);
    if (number != 0)
        return number;
    hm_perf_attr_clock(&attr);
    *event = open_in_time(&attr, thread->tid);
    if (*event < 0)
        return explain(errno);
    number = hm_damon_lend_judge(peer, thread);
    if (number == 0)
        hm_damon_lentlist_add(broker, &process, peer->owner);
    else
        close(*event);
    return number;
}

/* Sends the answer with the events. With the capabilities that events are opened with, the kernel does not count what
 * other clients have not taken yet. */
static bool send_events(int fd, struct hm_damon_lent *answer, size_t size, const int *event, size_t n)
{
    union lent_control control = {.bytes = {0}};
    struct iovec text = {.iov_base = answer, .iov_len = size};
    struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1};
    if (n > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(n * sizeof(int));
        control.head =
            (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(n * sizeof(int))};
        memcpy(CMSG_DATA(&control.head), event, n * sizeof(int));
    }
    hm_damon_caps_raise();
    ssize_t sent = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    hm_damon_caps_lower();
    return sent == (ssize_t)size;
}

/* Why this client gets no events at all, or NULL. */
static const char *refusal(const struct hm_damon_broker *broker, const struct hm_damon_peer *peer)
{
    if (!broker->lends)
        return "lend_samples = no in hybridmem.conf";
    if (peer->uid == 0)
        return "root opens events itself";
    return hm_damon_peer_shares_step(peer, peer->pid) ? NULL : "the client is in no step of a job";
}

bool hm_damon_lend(struct hm_damon_broker *broker, struct hm_damon_lease *lease, const struct hm_damon_borrow *wanted)
{
    struct hm_damon_lent answer;
    int event[HM_DAMON_THREADS];
    size_t n = 0, size = hm_damon_wire_begin(&answer, HM_DAMON_LENT, wanted->head.generation, wanted->head.n);
    if (hm_damon_unread_is(lease->fd))
        return false;
    const char *why = refusal(broker, &lease->peer);
    if (why)
        return hm_damon_answer_send(lease->fd, wanted->head.generation, 0, EPERM, why);
    if (!hm_damon_unread_allows(broker, lease->peer.owner))
        return hm_damon_answer_send(lease->fd, wanted->head.generation, 0, EBUSY, "earlier events are not taken yet");
    bool is_held = false; /* one thread has held up the broker: those after it have to be asked for again */
    for (uint32_t i = 0; i < wanted->head.n; i++) {
        int number = is_held ? EAGAIN : open_event(broker, &lease->peer, &wanted->thread[i], &event[n]);
        is_held = number == EAGAIN;
        answer.number[i] = (uint32_t)number;
        n += number == 0;
    }
    bool is_sent = send_events(lease->fd, &answer, size, event, n);
    for (size_t i = 0; i < n; i++)
        close(event[i]);
    lease->is_lent = lease->is_lent || n > 0;
    return is_sent;
}
