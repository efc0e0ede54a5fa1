/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a client takes the events that a broker lends: what a broker may answer, or not answer, over a real
 * socket. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "migrator/sources/perfwatchparts.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define THREADS 3

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static struct hm_lent lent;
static struct hm_error error;
static struct hm_damon_borrow question; /* as the broker has got it */
static int listener, connection;

static int set_up(void **state)
{
    (void)state;
    snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", scratch_path("damon.sock"));
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    error.text[0] = '\0';
    connection = -1;
    hm_lent_init(&lent, address.sun_path);
    return bind(listener, (struct sockaddr *)&address, sizeof(address)) || listen(listener, 4);
}

static int tear_down(void **state)
{
    (void)state;
    hm_lent_close(&lent);
    close(listener);
    if (connection >= 0)
        close(connection);
    return unlink(address.sun_path);
}

/* Asks for the events of some threads, and accepts the question. The threads are all this one. */
static void ask(int n)
{
    lent.asked.head.n = 0;
    for (int i = 0; i < n; i++)
        assert_true(hm_lent_add(&lent, getpid(), gettid()));
    assert_int_equal(hm_lent_ask(&lent, &error), 0);
    assert_false(hm_lent_may_ask(&lent));
    assert_int_equal(hm_lent_take(&lent, &error), 0); /* there is no answer yet */
    connection = accept(listener, NULL, NULL);
    assert_int_equal(recv(connection, &question, sizeof(question), 0),
                     hm_damon_wire_size(HM_DAMON_BORROW, (unsigned)n));
    assert_int_equal(question.head.kind, HM_DAMON_BORROW);
}

/* Answers with these errnos for the threads, and with n_events files whose sizes are 1, 2 ... bytes. */
static void answer(const uint32_t *number, uint32_t n, int n_events)
{
    struct hm_damon_lent message;
    int event[THREADS];
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(event))];
    } control = {.bytes = {0}};
    struct iovec text = {.iov_base = &message, .iov_len = hm_damon_wire_begin(&message, HM_DAMON_LENT, 1, n)};
    struct msghdr all = {.msg_iov = &text, .msg_iovlen = 1};
    memcpy(message.number, number, n * sizeof(*number));
    for (int i = 0; i < n_events; i++) {
        event[i] = memfd_create("event", MFD_CLOEXEC);
        assert_int_equal(ftruncate(event[i], i + 1), 0);
    }
    if (n_events > 0) {
        all.msg_control = control.bytes;
        all.msg_controllen = CMSG_SPACE((size_t)n_events * sizeof(int));
        control.head = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN((size_t)n_events * sizeof(int))};
        memcpy(CMSG_DATA(&control.head), event, (size_t)n_events * sizeof(int));
    }
    assert_int_equal(sendmsg(connection, &all, 0), text.iov_len);
    for (int i = 0; i < n_events; i++)
        close(event[i]);
}

static off_t size_of(int event)
{
    struct stat status;
    assert_int_equal(fstat(event, &status), 0);
    close(event);
    return status.st_size;
}

/* The lowest descriptor that is free: it shows whether any was left open. */
static int next_descriptor(void)
{
    int fd = dup(listener);
    close(fd);
    return fd;
}

static void each_thread_gets_its_own(void **state)
{
    (void)state;
    const uint32_t number[THREADS] = {0, EPERM, 0};
    ask(THREADS);
    assert_int_equal(question.thread[2].tid, gettid());
    assert_true(question.thread[2].start_time > 0);
    answer(number, THREADS, 2);
    assert_int_equal(hm_lent_take(&lent, &error), 1);
    assert_int_equal(size_of(lent.event[0]), 1);
    assert_int_equal(lent.event[1], -1);
    assert_int_equal(size_of(lent.event[2]), 2);
    assert_int_equal(lent.n_refused, 1);
    assert_non_null(strstr(lent.why.text, "not this user's alone"));
    assert_int_equal(lent.fd, -1); /* the place is free for others */
}

/* A thread that has ended meanwhile, or is to be asked for again, is no refusal. */
static void a_thread_that_has_ended(void **state)
{
    (void)state;
    const uint32_t number[] = {ESRCH, EAGAIN};
    ask(2);
    answer(number, 2, 0);
    assert_int_equal(hm_lent_take(&lent, &error), 1);
    assert_int_equal(lent.event[0], -1);
    assert_int_equal(lent.event[1], -1);
    assert_int_equal(lent.n_refused, 0);
}

/* Where descriptors are missing, as at the limit of open files, nobody knows whose the others are. */
static void events_and_threads_that_differ(void **state)
{
    (void)state;
    const uint32_t number[THREADS] = {0, 0, 0};
    ask(THREADS);
    int before = next_descriptor();
    answer(number, THREADS, 2);
    assert_int_equal(hm_lent_take(&lent, &error), -1);
    assert_int_equal(errno, EMFILE);
    assert_true(next_descriptor() <= before);
    close(connection);
    ask(2);
    answer(number, THREADS, 3);
    assert_int_equal(hm_lent_take(&lent, &error), -1);
}

static void a_refusal_has_the_brokers_text(void **state)
{
    (void)state;
    struct hm_damon_answer refused = {.number = EPERM, .text = "lend_samples = no"};
    ask(1);
    size_t size = hm_damon_wire_begin(&refused, HM_DAMON_ANSWER, 1, 0);
    assert_int_equal(send(connection, &refused, size, 0), size);
    assert_int_equal(hm_lent_take(&lent, &error), -1);
    assert_int_equal(errno, EPERM);
    assert_string_equal(error.text, "lend_samples = no");
}

static void a_broker_that_makes_no_sense(void **state)
{
    (void)state;
    struct hm_damon_list list = {.span_ms = 1};
    ask(1);
    size_t size = hm_damon_wire_begin(&list, HM_DAMON_LIST, 1, 0);
    assert_int_equal(send(connection, &list, size, 0), size);
    assert_int_equal(hm_lent_take(&lent, &error), -1);
    assert_int_equal(errno, EBADMSG);
    close(connection);
    ask(1);
    close(connection);
    connection = -1;
    assert_int_equal(hm_lent_take(&lent, &error), -1);
    assert_non_null(strstr(error.text, "closed the connection"));
}

/* The broker is asked once a second, at once where more threads wait, and ever less often where it lends nothing. */
static void questions_have_a_pace(void **state)
{
    (void)state;
    const uint32_t lends[] = {0}, refuses[] = {EACCES};
    assert_true(hm_lent_may_ask(&lent));
    ask(1);
    answer(lends, 1, 1);
    assert_int_equal(hm_lent_take(&lent, &error), 1);
    close(lent.event[0]);
    assert_false(hm_lent_may_ask(&lent));
    for (unsigned pause_s = 2; pause_s <= 4; pause_s *= 2) {
        close(connection);
        ask(1);
        answer(refuses, 1, 0);
        assert_int_equal(hm_lent_take(&lent, &error), 1);
        assert_int_equal(lent.retry.pause_s, pause_s);
        assert_true(lent.retry.next_ns > hm_clock_ns(CLOCK_MONOTONIC) + (pause_s - 1) * UINT64_C(1000000000));
    }
    lent.asked.head.n = 0;
    for (int i = 0; i < HM_DAMON_THREADS; i++)
        assert_true(hm_lent_add(&lent, getpid(), gettid()));
    assert_false(hm_lent_add(&lent, getpid(), gettid()));
}

static void *wait_for_end(void *data)
{
    char byte;
    assert_int_equal(read(*(const int *)data, &byte, 1), 0);
    return NULL;
}

#define MORE 16 /* threads than a question has room for, beside this one */

/* Has the question of an update, and refuses each thread for this reason. */
static int refuse_all(struct hm_perf_watched *watch, const struct hm_ranks *ranks, uint32_t why)
{
    uint32_t number[HM_DAMON_THREADS];
    watch->lent.retry.next_ns = 0;
    assert_int_equal(hm_perf_update_lent(watch, ranks, &error), 0);
    connection = accept(listener, NULL, NULL);
    assert_int_equal(recv(connection, &question, sizeof(question), 0),
                     hm_damon_wire_size(HM_DAMON_BORROW, HM_DAMON_THREADS));
    for (int i = 0; i < HM_DAMON_THREADS; i++)
        number[i] = why;
    answer(number, HM_DAMON_THREADS, 0);
    int status = hm_perf_update_lent(watch, ranks, &error);
    close(connection);
    connection = -1;
    return status;
}

/* Threads that are refused each time would else starve the others; and what may pass ends nothing. */
static void a_question_begins_where_the_last_one_ended(void **state)
{
    (void)state;
    static struct hm_perf_watched watch;
    struct hm_rank rank = {.pid = getpid()};
    struct hm_rank_index by_pid = {.pid = getpid()};
    const struct hm_ranks ranks = {.rank = &rank, .n = 1, .by_pid = &by_pid, .n_living = 1};
    pthread_t thread[HM_DAMON_THREADS + MORE];
    int wall[2];
    assert_int_equal(pipe(wall), 0);
    for (size_t i = 0; i < N_ROWS(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, wait_for_end, &wall[0]), 0);
    watch.lent = lent;
    assert_int_equal(refuse_all(&watch, &ranks, EBUSY), 0);
    const struct hm_damon_borrow first = question;
    assert_int_equal(refuse_all(&watch, &ranks, EPERM), -1);
    assert_int_equal(errno, EPERM);
    for (int i = 0; i <= MORE; i++) /* those that were not asked for, and then from the beginning on */
        for (int k = 0; k < HM_DAMON_THREADS; k++)
            assert_int_not_equal(question.thread[i].tid, first.thread[k].tid);
    for (int i = MORE + 1; i < HM_DAMON_THREADS; i++)
        assert_int_equal(question.thread[i].tid, first.thread[i - MORE - 1].tid);
    close(wall[1]);
    for (size_t i = 0; i < N_ROWS(thread); i++)
        pthread_join(thread[i], NULL);
    close(wall[0]);
}

static void without_a_broker(void **state)
{
    (void)state;
    assert_int_equal(hm_lent_own("/nonexistent/damon.sock", -1, &error), -1);
    assert_non_null(strstr(error.text, "/nonexistent/damon.sock"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_thread_gets_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_has_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(events_and_threads_that_differ, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_refusal_has_the_brokers_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broker_that_makes_no_sense, set_up, tear_down),
        cmocka_unit_test_setup_teardown(questions_have_a_pace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_question_begins_where_the_last_one_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_a_broker, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
