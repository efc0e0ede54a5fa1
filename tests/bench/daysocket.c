/* SPDX-License-Identifier: Apache-2.0 */
/* The socket of the simulated node's broker (daysim.h), with its only client. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daysim.h"

static int listener = -1, client = -1; /* -1: none */
struct day_broker day_broker;

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

void day_broker_start(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/damon.sock", day_root());
    unlink(address.sun_path);
    listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(listener, 4) != 0)
        day_die(address.sun_path);
}

void day_broker_drop(void)
{
    if (client >= 0)
        close(client);
    client = -1;
}

void day_broker_end(void)
{
    day_broker_drop();
    close(listener);
    listener = -1;
}

bool day_broker_has_client(void)
{
    return client >= 0;
}

void day_broker_send(const void *message, size_t size)
{
    if (send(client, message, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
        day_broker.lost++;
}

void day_broker_answer(uint32_t number, const char *text)
{
    const struct hm_damon_head *head = &day_broker.watch.head;
    struct hm_damon_answer answer = {.number = number};
    snprintf(answer.text, sizeof(answer.text), "%s", text);
    day_broker_send(&answer, hm_damon_wire_begin(&answer, HM_DAMON_ANSWER, head->generation, head->n));
}

void day_broker_serve(void)
{
    struct hm_error error = {{0}};
    if (client < 0) {
        client = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        day_broker.lost = day_broker.rounds = 0;
        day_broker.cpu_ns = 0;
    }
    while (client >= 0) {
        ssize_t length = recv(client, &day_broker.watch, sizeof(day_broker.watch), MSG_TRUNC);
        if (length == 0)
            day_broker_drop();
        if (length <= 0)
            return;
        if (hm_damon_wire_check_watch(&day_broker.watch, (size_t)length, &error) != 0)
            day_die(error.text);
        day_broker_take();
    }
}

/* Replaces poll: the migrator may be waiting for an answer. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    if (timeout_ms != 0)
        day_broker_serve();
    return __real_poll(fds, n, timeout_ms);
}
