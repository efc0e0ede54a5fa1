/* SPDX-License-Identifier: Apache-2.0 */
#include "clients.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define CLIENTS_OF_USER 16 /* most clients of one user at a time; root has no limit */
#define SECOND_NS UINT64_C(1000000000)
#define SILENCE_NS (10 * SECOND_NS) /* how long a new client may wait with its first message */
#define PAUSE_NS (SECOND_NS / 2)    /* shortest time between two messages of a client, as each restarts a kdamond */

void hm_damon_clients_init(struct hm_damon_clients *clients, struct hm_damon_broker *broker, uint64_t idle_s)
{
    clients->broker = broker;
    clients->listener = clients->signals = -1;
    clients->idle_ns = idle_s * SECOND_NS;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        clients->lease[c].fd = -1;
}

static void accept_client(struct hm_damon_clients *clients)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    struct hm_damon_lease *free_one = NULL;
    unsigned of_user = 0;
    int fd = accept4(clients->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        close(fd);
        return;
    }
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        if (clients->lease[c].fd < 0)
            free_one = &clients->lease[c];
        else
            of_user += clients->lease[c].uid == peer.uid;
    }
    if (!free_one || (peer.uid != 0 && of_user >= CLIENTS_OF_USER))
        close(fd);
    else
        hm_damon_lease_open(free_one, ++clients->n_clients, fd, peer.uid, peer.pid);
}

/*
 * A client's shortest time between two messages. A message that names hundreds of processes costs thousands of writes
 * to sysfs: with these pauses one client takes at most 1/HM_DAMON_KDAMONDS of the broker's time.
 */
static uint64_t pause_ns(const struct hm_damon_lease *lease)
{
    uint64_t pause = HM_DAMON_KDAMONDS * lease->served_ns;
    return pause > PAUSE_NS ? pause : PAUSE_NS;
}

/* May the client's next message be read now? The pause after its last message must be over. */
static bool may_speak(const struct hm_damon_lease *lease, uint64_t now)
{
    return lease->asked_ns == 0 || now - lease->asked_ns >= pause_ns(lease);
}

static void work(struct hm_damon_clients *clients, const struct pollfd *events)
{
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        struct hm_damon_lease *lease = &clients->lease[c];
        bool is_gone = false;
        if (lease->fd < 0)
            continue;
        clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
        if (events[c].fd == lease->fd && events[c].revents & POLLIN)
            is_gone = !hm_damon_lease_serve(clients->broker, lease);
        else if (events[c].fd == lease->fd && events[c].revents)
            is_gone = true;
        else if (lease->asked_ns == 0 && clients->used_ns - lease->since_ns > SILENCE_NS)
            is_gone = true;
        if (is_gone)
            hm_damon_lease_close(clients->broker, lease);
        else
            hm_damon_lease_work(clients->broker, lease);
    }
}

/* Sets which descriptors poll waits for. Returns the longest wait in ms. */
static int prepare(const struct hm_damon_clients *clients, struct pollfd *events)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    int wait_ms = (int)(clients->idle_ns / (SECOND_NS / 1000)) + 1;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        const struct hm_damon_lease *lease = &clients->lease[c];
        events[c] = (struct pollfd){.fd = lease->fd, .events = may_speak(lease, now) ? POLLIN : 0};
        if (lease->fd < 0)
            continue;
        int due_ms = hm_damon_lease_wait_ms(lease);
        if (due_ms < 0 || !may_speak(lease, now))
            due_ms = PAUSE_NS * 1000 / SECOND_NS;
        wait_ms = due_ms < wait_ms ? due_ms : wait_ms;
    }
    return wait_ms;
}

void hm_damon_clients_serve(struct hm_damon_clients *clients)
{
    struct pollfd events[HM_DAMON_CLIENTS + 2];
    clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        int wait_ms = prepare(clients, events);
        events[HM_DAMON_CLIENTS] = (struct pollfd){.fd = clients->listener, .events = POLLIN};
        events[HM_DAMON_CLIENTS + 1] = (struct pollfd){.fd = clients->signals, .events = POLLIN};
        if (poll(events, HM_DAMON_CLIENTS + 2, wait_ms) < 0 && errno != EINTR)
            return;
        if (events[HM_DAMON_CLIENTS + 1].revents)
            return;
        work(clients, events);
        if (events[HM_DAMON_CLIENTS].revents)
            accept_client(clients);
        if (hm_clock_ns(CLOCK_MONOTONIC) - clients->used_ns >= clients->idle_ns)
            return;
    }
}

void hm_damon_clients_close(struct hm_damon_clients *clients)
{
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        if (clients->lease[c].fd >= 0)
            hm_damon_lease_close(clients->broker, &clients->lease[c]);
}
