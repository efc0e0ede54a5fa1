/* SPDX-License-Identifier: Apache-2.0 */
#include "clientsfixture.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/lib/scratch.h"

struct hm_damon_clients *clients;
struct sockaddr_un address = {.sun_family = AF_UNIX};
uid_t owner;
int ended[2], connection[MOST], n_connections;
static struct hm_damon_broker broker;

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

int clients_set_up(void **state)
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

int clients_tear_down(void **state)
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

int come(uid_t user, int n)
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

int count_of(uid_t user)
{
    int n = 0;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        n += clients->lease[c].fd >= 0 && clients->lease[c].peer.owner == user;
    return n;
}
