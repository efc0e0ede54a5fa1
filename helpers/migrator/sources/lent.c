/* SPDX-License-Identifier: Apache-2.0 */
#include "lent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/patience.h"
#include "base/process.h"

#define SECOND_NS UINT64_C(1000000000)

void hm_lent_init(struct hm_lent *lent, const char *broker)
{
    *lent = (struct hm_lent){.fd = -1};
    strncpy(lent->broker, broker, sizeof(lent->broker) - 1);
}

bool hm_lent_may_ask(const struct hm_lent *lent)
{
    return lent->fd < 0 && hm_retry_is_due(&lent->retry);
}

bool hm_lent_add(struct hm_lent *lent, pid_t pid, pid_t tid)
{
    struct hm_process its;
    uint32_t *n = &lent->asked.head.n;
    if (*n == HM_DAMON_THREADS)
        return false;
    if (hm_process_identify(tid, &its) != 0)
        return true;
    lent->pid[*n] = pid;
    lent->asked.thread[(*n)++] = (struct hm_damon_thread){.tid = tid, .start_time = its.start_time};
    return true;
}

/* The question is over: `brings` says whether the answer had events. */
static void rest(struct hm_lent *lent, bool brings)
{
    bool was_full = lent->asked.head.n == HM_DAMON_THREADS;
    if (lent->fd >= 0)
        close(lent->fd);
    lent->fd = -1;
    hm_retry_pause(&lent->retry, brings);
    if (brings && was_full) /* more threads wait */
        lent->retry.next_ns = 0;
}

int hm_lent_ask(struct hm_lent *lent, struct hm_error *error)
{
    uint32_t n = lent->asked.head.n;
    size_t size = hm_damon_wire_begin(&lent->asked, HM_DAMON_BORROW, 1, n);
    lent->fd = hm_broker_connect(lent->broker, -1, 0, error);
    lent->asked_ns = hm_clock_ns(CLOCK_MONOTONIC);
    if (lent->fd < 0) {
        rest(lent, false);
        return -1;
    }
    /* EPIPE: the broker has closed the connection, and has sent the reason before. */
    if (send(lent->fd, &lent->asked, size, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)size || errno == EPIPE)
        return 0;
    hm_fail_errno(error, "cannot ask the broker for events");
    rest(lent, false);
    return -1;
}

/* Takes the descriptors that came with a message. Returns their number. */
static size_t take_descriptors(struct msghdr *message, int event[HM_DAMON_THREADS])
{
    size_t n = 0;
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        n = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(event, CMSG_DATA(part), n * sizeof(int));
    }
    return n;
}

static const char *explain(int number)
{
    return number == EACCES     ? "it is not in this step"
           : number == EPERM    ? "it is not this user's alone"
           : number == EALREADY ? "its event was lent before, and none is lent twice"
           : number == EBUSY    ? "the broker lends no more events for now"
           : number == ENOTSUP
               ? "the broker may open none itself, as kernel.perf_event_paranoid was lower when it started"
               : strerror(number);
}

/* Gives each thread of the answer its event, of `n` that came. Returns 0, or -1 with a text and all are closed. */
static int give_out(struct hm_lent *lent, const struct hm_damon_lent *answer, const int *event, size_t n,
                    struct hm_error *error)
{
    size_t given = 0, wanted = 0;
    for (uint32_t i = 0; i < answer->head.n; i++)
        wanted += answer->number[i] == 0;
    if (answer->head.n != lent->asked.head.n || wanted != n) {
        for (size_t i = 0; i < n; i++)
            close(event[i]);
        return hm_fail(error, EMFILE, "%zu events for %zu threads: the limit of open files may be too low", n, wanted);
    }
    lent->n_refused = lent->n_waiting = 0;
    for (uint32_t i = 0; i < answer->head.n; i++) {
        uint32_t number = answer->number[i];
        lent->event[i] = number == 0 ? event[given++] : -1;
        if (number == 0 || number == ESRCH || number == EAGAIN)
            continue;
        lent->n_refused++;
        lent->n_waiting += number == EBUSY;
        hm_fail(&lent->why, (int)number, "thread %d: %s", lent->asked.thread[i].tid, explain((int)number));
    }
    return 0;
}

static int judge(struct hm_lent *lent, const union hm_damon_message *reply, ssize_t length, struct msghdr *message,
                 struct hm_error *error)
{
    int event[HM_DAMON_THREADS];
    if (length <= 0)
        return hm_fail(error, ECONNRESET, "the broker has closed the connection");
    size_t n = take_descriptors(message, event);
    bool is_right = hm_damon_wire_check_lent(reply, (size_t)length, error) == 0;
    if (is_right && reply->head.kind == HM_DAMON_LENT)
        return give_out(lent, &reply->lent, event, n, error);
    int number = errno;
    for (size_t i = 0; i < n; i++)
        close(event[i]);
    errno = number;
    if (is_right && hm_broker_judge(&reply->answer, error) == 0)
        return hm_fail(error, EBADMSG, "the broker says nothing of the events");
    return -1;
}

int hm_lent_take(struct hm_lent *lent, struct hm_error *error)
{
    union hm_damon_message reply;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(HM_DAMON_THREADS * sizeof(int))];
    } control;
    struct iovec text = {.iov_base = &reply, .iov_len = sizeof(reply)};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(lent->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (length < 0 && errno == ECONNRESET) /* it closed without reading our message; its answer comes next */
        length = recvmsg(lent->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
    if (length < 0 && (errno == EAGAIN || errno == EINTR)) {
        if (hm_clock_ns(CLOCK_MONOTONIC) - lent->asked_ns < HM_BROKER_PATIENCE_S * SECOND_NS)
            return 0;
        hm_fail(error, ETIMEDOUT, "the broker did not answer for %d s", HM_BROKER_PATIENCE_S);
        rest(lent, false);
        return -1;
    }
    int status = judge(lent, &reply, length, &message, error);
    int number = errno;
    rest(lent, status == 0 && lent->n_refused < lent->asked.head.n);
    errno = number;
    return status == 0 ? 1 : -1;
}

int hm_lent_own(const char *broker, int stop, struct hm_error *error)
{
    struct hm_lent lent;
    uint64_t since_ns = 0;
    int status;
    do { /* EBUSY: all places or all events are taken, as where a step's tasks all begin */
        if (error)
            error->text[0] = '\0';
        hm_lent_init(&lent, broker);
        hm_lent_add(&lent, getpid(), gettid());
        status = hm_lent_ask(&lent, error);
        if (status == 0)
            status = hm_broker_wait(lent.fd, stop, error) == 0 ? hm_lent_take(&lent, error) : -1;
        if (status == 1 && lent.event[0] < 0)
            status = hm_fail(error, lent.n_waiting > 0 || lent.n_refused == 0 ? EBUSY : EPERM,
                             "the broker lends no event: %s", lent.why.text);
        int number = errno;
        hm_lent_close(&lent);
        errno = number;
    } while (status <= 0 && (errno == EBUSY || errno == EAGAIN) && hm_patience_pause(&since_ns, HM_BROKER_PATIENCE_S));
    return status == 1 ? lent.event[0] : -1;
}

void hm_lent_close(struct hm_lent *lent)
{
    if (lent->fd >= 0)
        close(lent->fd);
    lent->fd = -1;
}
