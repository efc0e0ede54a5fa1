/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the source damon before any process is watched: how a broker may answer, or not answer, over a real socket. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/perfopen.h"
#include "migrator/damon/wire.h"
#include "migrator/sources/source.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_source_setup setup = {.overhead = 0.01, .n_cpus = 2, .interval_ms = 10000};
static int listener;
static int told[2]; /* a pipe: a byte in it tells the source to end */

/* No other source works. On some processors the reason is long, and leaves room for the others' all the same. */
int hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
    (void)attr, (void)pid, (void)cpu, (void)flags;
    errno = ENOENT;
    return -1;
}

int hm_perf_find_type(const char *pmu)
{
    (void)pmu;
    return -1;
}

int hm_perf_read_attribute(const char *pmu, const char *name, char *out, size_t size)
{
    (void)pmu, (void)name, (void)out, (void)size;
    return -1;
}

static struct sockaddr_un address(void)
{
    struct sockaddr_un of_broker = {.sun_family = AF_UNIX};
    memcpy(of_broker.sun_path, setup.broker, strlen(setup.broker));
    return of_broker;
}

/* Starts a broker that listens and says nothing. */
static int set_up(void **state)
{
    (void)state;
    snprintf(setup.broker, sizeof(setup.broker), "%s/socket", scratch);
    struct sockaddr_un of_broker = address();
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&of_broker, sizeof(of_broker)) != 0 ||
        listen(listener, 0) != 0 || pipe(told) != 0)
        return -1;
    setup.stop = told[0];
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    close(told[0]);
    close(told[1]);
    close(listener);
    return unlink(setup.broker);
}

static void tell_to_end(void)
{
    assert_int_equal(write(told[1], "x", 1), 1);
}

/* Starts a broker that takes one client and reads its request. Then the broker sends `size` bytes, and ends when the
 * client has closed; with size 0 it ends at once. */
static pid_t start_broker(const void *reply, size_t size)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid > 0)
        return pid;
    struct hm_damon_watch watch;
    int client = accept(listener, NULL, NULL);
    bool is_asked = recv(client, &watch, sizeof(watch), 0) == (ssize_t)hm_damon_wire_size(HM_DAMON_WATCH, 0);
    bool is_said = is_asked && (size == 0 || send(client, reply, size, MSG_NOSIGNAL) == (ssize_t)size);
    if (size > 0)
        is_said = is_said && recv(client, &watch, sizeof(watch), 0) == 0;
    _exit(is_said ? 0 : 1);
}

static void assert_over(pid_t broker)
{
    int status;
    assert_int_equal(waitpid(broker, &status, 0), broker);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void the_brokers_answer_decides(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        /* size 0: the broker closes the connection; 1: it sends the whole answer; else it sends so many bytes of it */
        uint32_t number, size;
        int result; /* errno; 0: the source is opened */
    } rows[] = {
        {"", 0, 0, ECONNREFUSED},
        {"", 0, 8, EBADMSG},
        {"no kdamond is free", EBUSY, 1, EBUSY},
        {"this kernel has none", ENODEV, 1, ENODEV},
        {"", 0, 1, 0},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_damon_answer reply = {.number = rows[i].number};
        struct hm_error error = {""};
        char why[HM_WARNING];
        size_t whole = hm_damon_wire_begin(&reply, HM_DAMON_ANSWER, 1, 0);
        snprintf(reply.text, sizeof(reply.text), "%s", rows[i].text);
        pid_t broker = start_broker(&reply, rows[i].size == 1 ? whole : rows[i].size);
        struct hm_source *source = hm_source_open("damon", &setup, why, &error);
        assert_int_equal(source ? 0 : errno, rows[i].result);
        assert_non_null(strstr(error.text, rows[i].text));
        if (source) {
            assert_true(source->fd >= 0);
            source->close(source);
        }
        assert_over(broker);
    }
}

static void a_broker_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct hm_source_setup none = setup;
    struct hm_error error = {""};
    char why[HM_WARNING];
    none.broker[0] = '\0';
    assert_null(hm_source_open("damon", &none, why, &error));
    assert_int_equal(errno, ENOENT);
    assert_string_equal(error.text, "there is no DAMON broker");
    snprintf(none.broker, sizeof(none.broker), "%s/nobody", scratch);
    assert_null(hm_source_open("damon", &none, why, &error));
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(error.text, none.broker));
}

/* The broker says nothing for longer than the end of a step may wait. */
static void an_end_does_not_wait_for_the_answer(void **state)
{
    (void)state;
    struct hm_error error = {""};
    char why[HM_WARNING];
    tell_to_end();
    assert_null(hm_source_open("damon", &setup, why, &error));
    assert_int_equal(errno, ECANCELED);
    assert_non_null(strstr(error.text, "told to end"));
}

static void after_an_order_to_end_no_other_source_is_tried(void **state)
{
    (void)state;
    struct hm_error error = {""};
    char why[HM_WARNING];
    tell_to_end();
    assert_null(hm_source_open("auto", &setup, why, &error));
    if (!strstr(why, "damon: told")) /* there may be no room for more */
        fail_msg("%s", why);
    assert_null(strstr(why, "faults: "));
}

/* The broker's queue of connections is full, and the migrator is told to end. */
static void an_end_does_not_wait_for_a_place_at_the_broker(void **state)
{
    (void)state;
    struct hm_error error = {""};
    char why[HM_WARNING];
    struct sockaddr_un of_broker = address();
    int client[16];
    size_t n = 0;
    do {
        assert_true(n < N_ROWS(client));
        client[n] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    } while (connect(client[n++], (struct sockaddr *)&of_broker, sizeof(of_broker)) == 0);
    assert_int_equal(errno, EAGAIN);
    tell_to_end();
    assert_null(hm_source_open("damon", &setup, why, &error));
    assert_int_equal(errno, ECANCELED);
    assert_non_null(strstr(error.text, "told to end"));
    while (n > 0)
        close(client[--n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_brokers_answer_decides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broker_that_is_not_there_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_does_not_wait_for_the_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_an_order_to_end_no_other_source_is_tried, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_does_not_wait_for_a_place_at_the_broker, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
