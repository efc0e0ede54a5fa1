/* SPDX-License-Identifier: Apache-2.0 */
/* Tests who is accepted as a client of the migrator's view, and that others do not keep the migrator at work. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "migrator/live/viewserver.h"

static struct hm_viewserver server;
static struct hm_view view;
static uid_t peer; /* the user who connects */

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size);

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
    (void)fd;
    assert_true(level == SOL_SOCKET && name == SO_PEERCRED && *size == sizeof(struct ucred));
    *(struct ucred *)value = (struct ucred){.uid = peer};
    return 0;
}

/* Connects as this user, and lets the server work. Returns the connection. */
static int come(uid_t user)
{
    struct sockaddr_un address;
    socklen_t size = sizeof(address);
    struct pollfd fds[HM_VIEWSERVER_FDS];
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(getsockname(server.listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
    peer = user;
    hm_viewserver_watch(&server, fds);
    assert_true(poll(fds, HM_VIEWSERVER_FDS, 0) >= 0);
    hm_viewserver_serve(&server, fds, &view);
    return fd;
}

static bool is_closed(int fd)
{
    char byte;
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

static void test_strangers_do_not_keep_it_at_work(void **state)
{
    struct hm_error error;
    (void)state;
    assert_int_equal(hm_viewserver_open(&server, 7, 0, &error), 0);
    int own = come(geteuid()), stranger = come(geteuid() + 1);
    assert_true(!is_closed(own) && is_closed(stranger) && server.is_shut);
    int late = come(geteuid());
    assert_true(server.client[0] >= 0 && server.client[1] < 0); /* nobody is accepted now */
    server.is_shut = false;
    int last = come(geteuid());
    assert_true(server.client[1] >= 0 && !server.is_shut);
    close(own), close(stranger), close(late), close(last);
    hm_viewserver_close(&server);
}

/* Without a descriptor for it, a client would stay where poll(2) sees it. */
static void test_a_client_that_cannot_be_accepted_does_not_either(void **state)
{
    struct hm_error error;
    struct pollfd fds[HM_VIEWSERVER_FDS];
    struct rlimit before;
    (void)state;
    server.is_shut = false;
    assert_int_equal(hm_viewserver_open(&server, 7, 0, &error), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    int next = dup(0);
    close(next);
    const struct rlimit tight = {(rlim_t)next + 1, before.rlim_max}; /* the client's end alone */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    int own = come(geteuid());
    hm_viewserver_watch(&server, fds);
    assert_int_equal(poll(fds, HM_VIEWSERVER_FDS, 0), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    server.is_shut = false;
    int late = come(geteuid());
    assert_true(server.client[0] >= 0 && !server.is_shut);
    close(own), close(late);
    hm_viewserver_close(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_strangers_do_not_keep_it_at_work),
                                       cmocka_unit_test(test_a_client_that_cannot_be_accepted_does_not_either)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
