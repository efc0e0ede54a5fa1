/* SPDX-License-Identifier: Apache-2.0 */
/* Tests for which threads the broker lends events, and to whom. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/perfopen.h"
#include "base/process.h"
#include "migrator/damon/broker/lend.h"
#include "migrator/damon/broker/lentlist.h"
#include "migrator/damon/broker/target.h"
#include "migrator/damon/broker/unread.h"
#include "unit/lib/rows.h"

#define SCOPE "/sys/fs/cgroup/system.slice/slurmstepd.scope/"
#define USER 1001
#define GROUP 2001
#define CLIENT 100 /* the client's process */
#define THREAD 200 /* one of its threads, which began at 7; those after it have the numbers after it */
#define STATUS(uids, gids, capabilities)                                                                               \
    "Name:\tx\nUid:\t" uids "\nGid:\t" gids "\nGroups:\t2001 \nCapInh:\t0000000000000000\nCapPrm:\t" capabilities "\n"
#define OWN STATUS("1001\t1001\t1001\t1001", "2001\t2001\t2001\t2001", "0000000000000000")

/* What /proc says of the thread. */
struct facts {
    uint64_t start_time;
    uid_t owner; /* of its memory map */
    const char *status, *cgroup;
};

static const struct facts usual = {7, USER, OWN, SCOPE "job_7/step_3/user/task_0"};
static struct facts facts, after_open;
static const char *client_cgroup;
static struct perf_event_attr opened;
static int n_opened, last_event;
static int open_errno; /* why no event can be opened; 0: it can */
static int32_t next_thread = THREAD;
static struct hm_damon_broker broker;
static struct hm_damon_lease lease;
static int client;

bool __wrap_hm_process_is_running(const struct hm_process *process);
int __wrap_hm_process_read(pid_t pid, const char *name, char *out, size_t size);
int __wrap_hm_damon_target_check(pid_t pid, uid_t uid);
int __wrap_hm_cgroup_of(pid_t pid, char *out, size_t size);
int __wrap_hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);

bool __wrap_hm_process_is_running(const struct hm_process *process)
{
    return process->start_time == facts.start_time;
}

int __wrap_hm_process_read(pid_t pid, const char *name, char *out, size_t size)
{
    (void)pid;
    assert_string_equal(name, "status");
    snprintf(out, size, "%s", facts.status);
    return 0;
}

int __wrap_hm_damon_target_check(pid_t pid, uid_t uid)
{
    (void)pid;
    errno = EPERM;
    return facts.owner == uid ? 0 : -1;
}

int __wrap_hm_cgroup_of(pid_t pid, char *out, size_t size)
{
    snprintf(out, size, "%s", pid == CLIENT ? client_cgroup : facts.cgroup);
    return 0;
}

/* The event is a file whose size is the number of its thread. */
int __wrap_hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
    assert_int_equal(cpu, -1);
    assert_int_equal(flags, 0);
    opened = *attr;
    n_opened++;
    facts = after_open;
    errno = open_errno;
    if (open_errno != 0)
        return -1;
    last_event = memfd_create("event", MFD_CLOEXEC);
    return ftruncate(last_event, pid) == 0 ? last_event : -1;
}

static int set_up(void **state)
{
    (void)state;
    const struct hm_damon_peer peer = {.pid = CLIENT, .uid = USER, .gid = GROUP, .owner = USER, .pidfd = -1};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    facts = after_open = usual;
    client_cgroup = SCOPE "job_7/step_3/user/task_1";
    n_opened = open_errno = 0;
    broker = (struct hm_damon_broker){.lends = true};
    hm_damon_lease_open(&lease, 1, pair[0], &peer);
    client = pair[1];
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hm_damon_lease_close(&broker, &lease);
    return close(client);
}

/* Asks for the events of the next `n` threads. Returns whether the client still has its place. */
static bool ask(uint32_t n)
{
    static struct hm_damon_borrow question;
    size_t size = hm_damon_wire_begin(&question, HM_DAMON_BORROW, 5, n);
    for (uint32_t i = 0; i < n; i++)
        question.thread[i] = (struct hm_damon_thread){.tid = next_thread++, .start_time = 7};
    assert_int_equal(send(client, &question, size, 0), size);
    return hm_damon_lease_serve(&broker, &lease);
}

/* Takes the answer, and the sizes of the files that came with it. Returns their number. */
static int hear(union hm_damon_message *answer, off_t event[HM_DAMON_THREADS])
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(HM_DAMON_THREADS * sizeof(int))];
    } control;
    struct iovec text = {.iov_base = answer, .iov_len = sizeof(*answer)};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(client, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    assert_true(length > 0);
    assert_int_equal(hm_damon_wire_check_lent(answer, (size_t)length, NULL), 0);
    assert_int_equal(answer->head.generation, 5);
    struct cmsghdr *part = CMSG_FIRSTHDR(&message);
    int n = part ? (int)((part->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
    for (int i = 0, fd; i < n; i++) {
        struct stat status;
        memcpy(&fd, CMSG_DATA(part) + (size_t)i * sizeof(int), sizeof(fd));
        assert_int_equal(fstat(fd, &status), 0);
        event[i] = status.st_size;
        close(fd);
    }
    return n;
}

static void only_threads_of_the_users_own_step(void **state)
{
    (void)state;
    static const struct {
        struct facts facts;
        int number;
    } rows[] = {
        {{7, USER, OWN, SCOPE "job_7/step_3/user/task_0"}, 0},
        {{7, USER, OWN, SCOPE "job_7/step_3"}, 0},
        {{8, USER, OWN, SCOPE "job_7/step_3"}, ESRCH}, /* another thread with its number */
        {{7, 0, OWN, SCOPE "job_7/step_3"}, EPERM},    /* not dumpable, as a set-user-ID program */
        {{7, 1002, OWN, SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, STATUS("1002\t1001\t1001\t1001", "2001\t2001\t2001\t2001", "0"), SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, STATUS("1001\t0\t1001\t1001", "2001\t2001\t2001\t2001", "0"), SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, STATUS("1001\t1001\t0\t1001", "2001\t2001\t2001\t2001", "0"), SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, STATUS("1001\t1001\t1001\t0", "2001\t2001\t2001\t2001", "0"), SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, STATUS("1001\t1001\t1001\t1001", "2001\t42\t2001\t2001", "0"), SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, STATUS("1001\t1001\t1001\t1001", "2001\t2001\t42\t2001", "0"), SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, STATUS("1001\t1001\t1001\t1001", "2001\t2001\t2001\t2001", "0000000000002000"),
          SCOPE "job_7/step_3"},
         EPERM},
        {{7, USER, "Name:\tx\nUid:\t1001\t1001\t1001\t1001\nGid:\t2001\t2001\t2001\t2001\n", SCOPE "job_7/step_3"},
         EPERM}, /* its capabilities are not there */
        {{7, USER, "", SCOPE "job_7/step_3"}, EPERM},
        {{7, USER, OWN, SCOPE "job_7/step_4"}, EACCES},
        {{7, USER, OWN, SCOPE "job_7/step_33"}, EACCES},
        {{7, USER, OWN, SCOPE "job_8/step_3"}, EACCES},
        {{7, USER, OWN, SCOPE "job_7"}, EACCES},
        {{7, USER, OWN, "/sys/fs/cgroup/user.slice"}, EACCES},
        {{7, USER, OWN, ""}, EACCES},
    };
    const struct hm_damon_thread thread = {.tid = THREAD, .start_time = 7};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        facts = rows[i].facts;
        int number = hm_damon_lend_judge(&lease.peer, &thread);
        if (number != rows[i].number)
            fail_msg("row %zu: %s", i, strerror(number));
    }
    facts = usual;
    facts.cgroup = client_cgroup = "/sys/fs/cgroup/user.slice"; /* both are in no step */
    assert_int_equal(hm_damon_lend_judge(&lease.peer, &thread), EACCES);
}

/* No field of the event is the client's choice, and it samples nothing before the client has it. */
static void the_event_is_fixed(void **state)
{
    (void)state;
    union hm_damon_message answer;
    off_t event[HM_DAMON_THREADS];
    next_thread = THREAD;
    assert_true(ask(3));
    assert_int_equal(hear(&answer, event), 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(answer.lent.number[i], 0);
        assert_int_equal(event[i], THREAD + i);
    }
    assert_int_equal(opened.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(opened.config, PERF_COUNT_SW_CPU_CLOCK);
    assert_true(opened.exclude_kernel && opened.exclude_hv && opened.disabled);
    assert_int_equal(opened.sample_period, 1000000000);
    assert_int_equal(opened.sample_type,
                     PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER);
    assert_false(opened.inherit || opened.enable_on_exec || opened.freq || opened.mmap || opened.comm || opened.task);
    assert_int_equal(opened.sample_stack_user, 0);
    assert_int_equal(opened.branch_sample_type, 0);
    assert_int_equal(fcntl(last_event, F_GETFD), -1); /* the broker keeps none */
}

/* What a thread is after its event was opened counts: it may have become another program, or another thread. */
static void a_thread_is_judged_again_once_its_event_is_open(void **state)
{
    (void)state;
    static const struct {
        struct facts then;
        int number;
    } rows[] = {{{7, 0, OWN, SCOPE "job_7/step_3"}, EPERM},
                {{9, USER, OWN, SCOPE "job_7/step_3"}, ESRCH},
                {{7, USER, OWN, SCOPE "job_7/step_9"}, EACCES}};
    union hm_damon_message answer;
    off_t event[HM_DAMON_THREADS];
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        facts = usual;
        after_open = rows[i].then;
        assert_true(ask(1));
        assert_int_equal(n_opened, i + 1);
        assert_int_equal(hear(&answer, event), 0);
        assert_int_equal(answer.lent.number[0], rows[i].number);
        assert_int_equal(fcntl(last_event, F_GETFD), -1);
    }
    assert_false(hm_damon_lentlist_runs(&broker));
}

static void who_may_have_none(void **state)
{
    (void)state;
    union hm_damon_message answer;
    off_t event[HM_DAMON_THREADS];
    static const struct {
        bool lends;
        uid_t uid;
        const char *cgroup, *why;
    } rows[] = {
        {false, USER, SCOPE "job_7/step_3", "lend_samples = no"},
        {true, 0, SCOPE "job_7/step_3", "root opens"},
        {true, USER, SCOPE "job_7", "in no step"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        broker.lends = rows[i].lends;
        lease.peer.uid = rows[i].uid;
        client_cgroup = rows[i].cgroup;
        assert_true(ask(2));
        assert_int_equal(hear(&answer, event), 0);
        assert_int_equal(answer.answer.number, EPERM);
        assert_non_null(strstr(answer.answer.text, rows[i].why));
    }
    assert_int_equal(n_opened, 0);
}

/* A user can make the kernel wait for a thread. The broker waits for one at most, and says that it may be asked again.
 */
static void a_thread_that_holds_up_the_broker(void **state)
{
    (void)state;
    union hm_damon_message answer;
    off_t event[HM_DAMON_THREADS];
    open_errno = EINTR;
    assert_true(ask(3));
    assert_int_equal(n_opened, 1);
    assert_int_equal(hear(&answer, event), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(answer.lent.number[i], EAGAIN);
}

/* What the broker may not do is no fault of the thread's. */
static void a_broker_without_the_right(void **state)
{
    (void)state;
    union hm_damon_message answer;
    off_t event[HM_DAMON_THREADS];
    open_errno = EACCES;
    assert_true(ask(1));
    assert_int_equal(hear(&answer, event), 0);
    assert_int_equal(answer.lent.number[0], ENOTSUP);
}

/* Descriptors that nobody takes stay in the kernel's queue: a client gets no more before it has read what it was sent.
 */
static void who_does_not_read_gets_no_more(void **state)
{
    (void)state;
    assert_true(ask(2));
    assert_false(ask(2));
    assert_int_equal(n_opened, 2);
}

/* Events that were left in connections are held in the kernel as root's, so a user leaves few: others lose nothing by
 * that, and the user may have some again once they are taken, or nobody can take them any more. */
static void who_leaves_events_untaken_gets_no_more(void **state)
{
    union hm_damon_message answer;
    off_t event[HM_DAMON_THREADS];
    int left[4];
    for (int i = 0; i < 4; i++) {
        assert_true(ask(2));
        hm_damon_lease_close(&broker, &lease);
        left[i] = client;
        const struct hm_damon_broker kept = broker;
        assert_int_equal(set_up(state), 0);
        broker = kept;
    }
    assert_true(ask(1));
    assert_int_equal(hear(&answer, event), 0);
    assert_int_equal(answer.answer.number, EBUSY);
    lease.peer.owner = USER + 1;
    assert_true(ask(1));
    assert_int_equal(hear(&answer, event), 1);
    lease.peer.owner = USER;
    close(left[0]);
    assert_true(ask(1));
    assert_int_equal(hear(&answer, event), 1);
    for (int i = 1; i < 4; i++)
        close(left[i]);
    assert_true(hm_damon_unread_allows(&broker, USER));
}

/* Opening a second event could wait for ever for a lock that the user holds by the first one. */
static void no_event_is_lent_twice(void **state)
{
    (void)state;
    union hm_damon_message answer;
    off_t event[HM_DAMON_THREADS];
    assert_true(ask(1));
    assert_int_equal(hear(&answer, event), 1);
    next_thread--;
    assert_true(ask(2));
    assert_int_equal(hear(&answer, event), 1);
    assert_int_equal(answer.lent.number[0], EALREADY);
    assert_int_equal(answer.lent.number[1], 0);
    assert_int_equal(n_opened, 2);
}

/* A user who has many such threads leaves room for others, and has some again once they have ended. */
static void the_list_has_room_for_others(void **state)
{
    (void)state;
    const struct hm_process thread = {.pid = THREAD, .start_time = 8};
    for (int i = 0; i < HM_DAMON_LENT_THREADS / 2; i++)
        hm_damon_lentlist_add(&broker, &(struct hm_process){.pid = THREAD + i, .start_time = 7}, USER);
    assert_int_equal(hm_damon_lentlist_check(&broker, &thread, USER), EBUSY);
    assert_int_equal(hm_damon_lentlist_check(&broker, &thread, USER + 1), 0);
    facts.start_time = 8;
    broker.sweep_ns = 0;
    assert_int_equal(hm_damon_lentlist_check(&broker, &thread, USER), 0);
}

/* Else it would not know them any more. */
static void it_stays_while_such_a_thread_runs(void **state)
{
    (void)state;
    assert_false(hm_damon_lentlist_runs(&broker));
    assert_true(ask(1));
    assert_true(hm_damon_lentlist_runs(&broker));
    facts.start_time = 8;
    assert_false(hm_damon_lentlist_runs(&broker));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_threads_of_the_users_own_step, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_event_is_fixed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_is_judged_again_once_its_event_is_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_may_have_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_holds_up_the_broker, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broker_without_the_right, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_does_not_read_gets_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_leaves_events_untaken_gets_no_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_event_is_lent_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_list_has_room_for_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_stays_while_such_a_thread_runs, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
