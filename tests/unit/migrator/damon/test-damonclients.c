/* SPDX-License-Identifier: Apache-2.0 */
/* Tests who gets a place at the DAMON broker, and for how long. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "clientsfixture.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nobody_without_a_job_has_a_place, clients_set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(new_connections_have_a_pace, clients_set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(one_user_has_sixteen_places, clients_set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(places_are_shared, clients_set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(who_says_nothing_loses_their_place, clients_set_up, clients_tear_down),
        cmocka_unit_test_setup_teardown(a_place_ends_with_its_process, clients_set_up, clients_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
