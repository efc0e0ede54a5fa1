/* SPDX-License-Identifier: Apache-2.0 */
#include "clients.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "send.h"

#define CLIENTS_OF_USER 16 /* most clients of one user at a time; root has no limit */
#define SECOND_NS UINT64_C(1000000000)
#define SILENCE_NS (10 * SECOND_NS) /* how long a new client may wait with its first message */
#define REST_NS (5 * SECOND_NS)     /* longest pause that a user has left from an earlier connection (find_rest) */
/* After the work for new connections (no further one is begun after WORK_NS), no others are accepted for so many times
 * as long, for a second at most: refused ones cost their sender nothing. */
#define RESTS 10
#define WORK_NS (SECOND_NS / 100)
#define PAUSE_NS (SECOND_NS / 2) /* shortest time between two messages of a client, as each restarts a kdamond */

/* What poll waits for: the clients' sockets, the ends of their processes, new clients, and signals. */
enum { LISTENER = 2 * HM_DAMON_CLIENTS, SIGNALS, ALL };

void hm_damon_clients_init(struct hm_damon_clients *clients, struct hm_damon_broker *broker, uint64_t idle_s)
{
    clients->broker = broker;
    clients->listener = clients->signals = -1;
    clients->idle_ns = idle_s * SECOND_NS;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        clients->lease[c].fd = -1;
}

static unsigned count_clients(const struct hm_damon_clients *clients)
{
    unsigned n = 0;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        n += clients->lease[c].fd >= 0;
    return n;
}

/*
 * A client's shortest time between two messages. A message that names hundreds of processes costs thousands of writes
 * to sysfs. So the pause is n times as long as the work for the last message, where n is the number of clients, but at
 * least HM_DAMON_KDAMONDS: no client gets more than an n-th of the broker's time.
 */
static uint64_t pause_ns(const struct hm_damon_lease *lease, unsigned n_clients)
{
    uint64_t pause = (n_clients > HM_DAMON_KDAMONDS ? n_clients : HM_DAMON_KDAMONDS) * lease->served_ns;
    return pause > PAUSE_NS ? pause : PAUSE_NS;
}

/* May the client's next message be read now? The pause after its last message must be over; before its first message,
 * the pause that its user has left from an earlier connection (find_rest). */
static bool may_speak(const struct hm_damon_lease *lease, unsigned n_clients, uint64_t now)
{
    return lease->asked_ns == 0 ? now >= lease->since_ns : now - lease->asked_ns >= pause_ns(lease, n_clients);
}

/*
 * Finds the entry for the rest of a user's pause, or makes one. A pause that is not over when a connection closes goes
 * on for the user's next connection, so that nobody gains by connecting anew. It goes on for REST_NS at most, as the
 * migrator of the next step must have its answer soon.
 */
static struct hm_damon_rest *find_rest(struct hm_damon_clients *clients, uid_t owner)
{
    struct hm_damon_rest *found = &clients->rest[0];
    for (int i = 0; i < HM_DAMON_CLIENTS; i++) {
        if (clients->rest[i].owner == owner)
            return &clients->rest[i];
        if (clients->rest[i].until_ns < found->until_ns)
            found = &clients->rest[i];
    }
    *found = (struct hm_damon_rest){.owner = owner};
    return found;
}

static void close_client(struct hm_damon_clients *clients, struct hm_damon_lease *lease)
{
    struct hm_damon_rest *rest = find_rest(clients, lease->peer.owner);
    uint64_t until_ns = lease->asked_ns ? lease->asked_ns + pause_ns(lease, count_clients(clients)) : 0;
    uint64_t most_ns = hm_clock_ns(CLOCK_MONOTONIC) + REST_NS;
    until_ns = until_ns < most_ns ? until_ns : most_ns;
    if (until_ns > rest->until_ns && lease->peer.owner != 0)
        rest->until_ns = until_ns;
    hm_damon_lease_close(clients->broker, lease);
}

/* How many places this user has. `newest` gets the one that was taken last; NULL: none. */
static unsigned count_places(struct hm_damon_clients *clients, uid_t owner, struct hm_damon_lease **newest)
{
    unsigned n = 0;
    *newest = NULL;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        struct hm_damon_lease *lease = &clients->lease[c];
        if (lease->fd < 0 || lease->peer.owner != owner)
            continue;
        n++;
        if (!*newest || lease->client > (*newest)->client)
            *newest = lease;
    }
    return n;
}

/* Takes a place from the user who has the most, if these are more than `n_own` + 1. Returns it, or NULL. */
static struct hm_damon_lease *take_place(struct hm_damon_clients *clients, unsigned n_own)
{
    struct hm_damon_lease *newest, *taken = NULL;
    unsigned most = n_own + 1;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        unsigned n = count_places(clients, clients->lease[c].peer.owner, &newest);
        if (n > most) {
            most = n;
            taken = newest;
        }
    }
    if (taken)
        close_client(clients, taken);
    return taken;
}

static struct hm_damon_lease *find_place(struct hm_damon_clients *clients, uid_t owner)
{
    struct hm_damon_lease *newest;
    unsigned n_own = count_places(clients, owner, &newest);
    if (owner != 0 && n_own >= CLIENTS_OF_USER)
        return NULL;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        if (clients->lease[c].fd < 0)
            return &clients->lease[c];
    /* Root takes none away: each step that begins connects as root, to see whether there is a broker. */
    return owner == 0 ? NULL : take_place(clients, n_own);
}

/* Tells the client why, and closes the connection. */
static void refuse(int fd, int number, const char *text)
{
    hm_damon_answer_send(fd, 0, 0, number, text);
    close(fd);
}

/* Accepts the next connection, and gives it a place or refuses it. Returns false if none can be accepted. */
static bool accept_client(struct hm_damon_clients *clients)
{
    struct hm_damon_peer peer;
    struct hm_error error = {{0}};
    int fd = accept4(clients->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return false;
    if (hm_damon_peer_find(clients->run_dir, fd, &peer, &error) != 0) {
        refuse(fd, errno, error.text);
        return true;
    }
    clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    struct hm_damon_lease *place = find_place(clients, peer.owner);
    if (place) {
        hm_damon_lease_open(place, ++clients->last_client, fd, &peer);
        uint64_t rest_ns = find_rest(clients, peer.owner)->until_ns;
        place->since_ns = rest_ns > place->since_ns ? rest_ns : place->since_ns;
        return true;
    }
    refuse(fd, EBUSY, "the DAMON broker has too many clients");
    if (peer.pidfd >= 0)
        close(peer.pidfd);
    return true;
}

/* Accepts up to HM_DAMON_CLIENTS connections, so that those that will be refused do not fill the socket's queue. */
static void accept_clients(struct hm_damon_clients *clients)
{
    uint64_t begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    uint64_t ended_ns = begun_ns;
    for (int n = 0; n < HM_DAMON_CLIENTS && ended_ns - begun_ns < WORK_NS && accept_client(clients); n++)
        ended_ns = hm_clock_ns(CLOCK_MONOTONIC);
    uint64_t rest_ns = RESTS * (ended_ns - begun_ns);
    clients->accepts_ns = ended_ns + (rest_ns < SECOND_NS ? rest_ns : SECOND_NS);
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
        else if (events[HM_DAMON_CLIENTS + c].fd == lease->peer.pidfd && events[HM_DAMON_CLIENTS + c].revents)
            is_gone = true; /* the process that connected has ended; another one still has its connection */
        else if (lease->asked_ns == 0 && clients->used_ns > lease->since_ns + SILENCE_NS)
            is_gone = true;
        if (is_gone)
            close_client(clients, lease);
        else
            hm_damon_lease_work(clients->broker, lease);
    }
}

/* Sets which descriptors of the clients poll waits for. Returns the longest wait in ms. */
static int prepare(const struct hm_damon_clients *clients, struct pollfd *events)
{
    const unsigned n_clients = count_clients(clients);
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    int wait_ms = (int)(clients->idle_ns / (SECOND_NS / 1000)) + 1;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        const struct hm_damon_lease *lease = &clients->lease[c];
        events[c] = (struct pollfd){.fd = lease->fd, .events = may_speak(lease, n_clients, now) ? POLLIN : 0};
        events[HM_DAMON_CLIENTS + c] = (struct pollfd){.fd = lease->fd < 0 ? -1 : lease->peer.pidfd, .events = POLLIN};
        if (lease->fd < 0)
            continue;
        int due_ms = hm_damon_lease_wait_ms(lease);
        if (due_ms < 0 || !may_speak(lease, n_clients, now))
            due_ms = PAUSE_NS * 1000 / SECOND_NS;
        wait_ms = due_ms < wait_ms ? due_ms : wait_ms;
    }
    return wait_ms;
}

void hm_damon_clients_serve(struct hm_damon_clients *clients)
{
    struct pollfd events[ALL];
    clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        int wait_ms = prepare(clients, events);
        uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
        int rest_ms = now < clients->accepts_ns ? (int)((clients->accepts_ns - now) / (SECOND_NS / 1000)) + 1 : 0;
        wait_ms = rest_ms > 0 && rest_ms < wait_ms ? rest_ms : wait_ms;
        events[LISTENER] = (struct pollfd){.fd = rest_ms > 0 ? -1 : clients->listener, .events = POLLIN};
        events[SIGNALS] = (struct pollfd){.fd = clients->signals, .events = POLLIN};
        if (poll(events, ALL, wait_ms) < 0 && errno != EINTR)
            return;
        if (events[SIGNALS].revents)
            return;
        work(clients, events);
        if (events[LISTENER].revents)
            accept_clients(clients);
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
