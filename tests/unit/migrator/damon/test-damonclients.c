/* SPDX-License-Identifier: Apache-2.0 */
/* Tests who gets a place at the DAMON broker, and for how long. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "migrator/damon/broker/clients.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define MOST 80 /* connections of one test */
#define NOBODY 7777

static struct hm_damon_clients *clients;
static struct hm_damon_broker broker;
static struct sockaddr_un address = {.sun_family = AF_UNIX};
static uid_t owner;  /* of the next process that connects; NOBODY: a process of no job */
static int ended[2]; /* a pipe in place of that process's pidfd: readable once the other end has closed */
static int connection[MOST], n_connections;

int __wrap_hm_damon_peer_find(const char *run_dir, int fd, struct hm_damon_peer *peer, struct hm_error *error);

int __wrap_hm_damon_peer_find(const char *run_dir, int fd, struct hm_damon_peer *peer, struct hm_error *error)
{
    (void)fd;
    assert_string_equal(run_dir, "/run/test");
    *peer = (struct hm_damon_peer){.pid = getpid(), .uid = owner, .owner = owner, .pidfd = dup(ended[0])};
    if (owner != NOBODY)
        return 0;
    close(peer->pidfd);
    return hm_fail(error, EPERM, "in no step of a job");
}

static int set_up(void **state)
{
    (void)state;
    clients = calloc(1, sizeof(*clients));
    hm_damon_clients_init(clients, &broker, 0); /* idle_s is 0: serving returns after one round */
    clients->run_dir = "/run/test";
    snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", scratch_path("damon.sock"));
    clients->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    n_connections = 0;
    return bind(clients->listener, (struct sockaddr *)&address, sizeof(address)) || listen(clients->listener, MOST) ||
           pipe(ended);
}

static int tear_down(void **state)
{
    (void)state;
    hm_damon_clients_close(clients);
    for (int i = 0; i < n_connections; i++)
        close(connection[i]);
    close(clients->listener);
    close(ended[0]);
    close(ended[1]);
    free(clients);
    return unlink(address.sun_path);
}

/* Are there connections that the broker has not accepted yet? In one round it stops accepting after 10 ms. */
static bool has_waiting(void)
{
    struct pollfd waiting = {.fd = clients->listener, .events = POLLIN};
    return poll(&waiting, 1, 0) > 0;
}

/* `n` processes of jobs of this user connect. Returns the number of the first connection. */
static int come(uid_t user, int n)
{
    int first = n_connections;
    owner = user;
    for (int i = 0; i < n; i++) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
        assert_true(n_connections < MOST);
        connection[n_connections++] = fd;
    }
    do {
        clients->accepts_ns = 0;
        hm_damon_clients_serve(clients);
    } while (has_waiting());
    return first;
}

static int count_of(uid_t user)
{
    int n = 0;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        n += clients->lease[c].fd >= 0 && clients->lease[c].peer.owner == user;
    return n;
}

static void assert_refused(int number, int reason, const char *why)
{
    struct hm_damon_answer answer = {.number = 0};
    assert_true(recv(connection[number], &answer, sizeof(answer), 0) > 0);
    assert_int_equal(answer.number, reason);
    assert_non_null(strstr(answer.text, why));
    assert_int_equal(recv(connection[number], &answer, sizeof(answer), 0), 0); /* it is closed */
}

static void nobody_without_a_job_has_a_place(void **state)
{
    (void)state;
    int first = come(NOBODY, 20);
    for (int i = 0; i < 20; i++)
        assert_refused(first + i, EPERM, "in no step of a job");
    assert_int_equal(clients->last_client, 0);
}

/* Connections that are refused cost their sender nothing. So after its work for some connections, the broker accepts no
 * others for a while. */
static void new_connections_have_a_pace(void **state)
{
    (void)state;
    uint64_t before = hm_clock_ns(CLOCK_MONOTONIC);
    come(NOBODY, 20);
    uint64_t spent = hm_clock_ns(CLOCK_MONOTONIC) - before;
    assert_in_range(clients->accepts_ns, before, before + 11 * spent);
    clients->accepts_ns = before + UINT64_C(1000000000000);
    owner = 1;
    int fd = connection[n_connections++] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    hm_damon_clients_serve(clients);
    assert_int_equal(count_of(1), 0);
    clients->accepts_ns = 0;
    hm_damon_clients_serve(clients);
    assert_int_equal(count_of(1), 1);
}

static void one_user_has_sixteen_places(void **state)
{
    (void)state;
    int first = come(1, 17);
    assert_refused(first + 16, EBUSY, "too many clients");
    assert_int_equal(count_of(1), 16);
}

/* Four users have taken all places. Each user who comes later gets one of these. */
static void places_are_shared(void **state)
{
    (void)state;
    for (uid_t user = 1; user <= 4; user++)
        come(user, 16);
    assert_int_equal(count_of(4), 16);
    for (uid_t user = 5; user <= 8; user++)
        come(user, 1);
    come(0, 1); /* a step that begins connects as root, to see whether there is a broker; that takes no place away */
    for (uid_t user = 5; user <= 8; user++)
        assert_int_equal(count_of(user), 1);
    for (uid_t user = 1; user <= 4; user++)
        assert_int_equal(count_of(user), 15);
}

static void a_place_ends_with_its_process(void **state)
{
    (void)state;
    come(1, 1);
    hm_damon_clients_serve(clients);
    assert_int_equal(count_of(1), 1);
    close(ended[1]); /* the process has ended, and another one still has its connection */
    ended[1] = -1;
    hm_damon_clients_serve(clients);
    assert_int_equal(count_of(1), 0);
}

/* Who connects and says nothing has a place for 10 s. A client that has asked once keeps its place. */
static void who_says_nothing_loses_their_place(void **state)
{
    (void)state;
    static const struct {
        uint64_t silent_ns;
        bool has_asked;
        int places;
    } rows[] = {
        {UINT64_C(5000000000), false, 1},
        {UINT64_C(10000000000), true, 1},
        {UINT64_C(10000000000), false, 0},
    };
    int client = come(1, 1);
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_damon_lease *lease = &clients->lease[0];
        lease->since_ns = hm_clock_ns(CLOCK_MONOTONIC) - rows[i].silent_ns;
        lease->asked_ns = rows[i].has_asked ? lease->since_ns : 0;
        hm_damon_clients_serve(clients);
        assert_int_equal(count_of(1), rows[i].places);
    }
    assert_int_equal(recv(connection[client], &(char){0}, 1, 0), 0); /* it is closed */
}

/* A user who connects anew gains nothing: the pause after their last message goes on. It is 16 times the 2 s that the
 * message took, but a new connection waits for 5 s at most. */
static void a_new_connection_is_no_way_around_a_pause(void **state)
{
    (void)state;
    come(1, 1);
    clients->lease[0].asked_ns = clients->lease[0].since_ns;
    clients->lease[0].served_ns = UINT64_C(2000000000);
    const uint64_t asked_ns = clients->lease[0].asked_ns;
    close(connection[0]);
    connection[0] = -1;
    hm_damon_clients_serve(clients);
    assert_int_equal(count_of(1), 0);
    come(1, 1);
    come(2, 1);
    assert_in_range(clients->lease[0].since_ns, asked_ns + UINT64_C(5000000000),
                    hm_clock_ns(CLOCK_MONOTONIC) + UINT64_C(5000000000));
    assert_true(clients->lease[1].since_ns <= hm_clock_ns(CLOCK_MONOTONIC));
    send(connection[1], "x", 1, 0); /* no message of the broker's: as soon as it is read, the connection ends */
    hm_damon_clients_serve(clients);
    assert_int_equal(count_of(1), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_without_a_job_has_a_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_connections_have_a_pace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_user_has_sixteen_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_are_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_says_nothing_loses_their_place, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_new_connection_is_no_way_around_a_pause, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_place_ends_with_its_process, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
