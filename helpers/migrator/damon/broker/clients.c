/* SPDX-License-Identifier: Apache-2.0 */
#include "clients.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/clock.h"
#include "lentlist.h"
#include "send.h"

#define CLIENTS_OF_USER 16 /* most clients of one user at a time; root has no limit */
#define SECOND_NS UINT64_C(1000000000)
#define MS_NS (SECOND_NS / 1000)
#define SILENCE_NS (10 * SECOND_NS) /* how long a new client may wait with its first message */
#define FIRST_NS (10 * SECOND_NS)   /* how far ahead a first message goes (goes_before) */
/* New connections are accepted for WORK_NS at most. After that none is accepted for RESTS times as long as it took, a
 * second at most: a refused connection costs its sender nothing, but the broker time. */
#define RESTS 10
#define WORK_NS (SECOND_NS / 100)
#define CHECK_NS (SECOND_NS / 2) /* longest wait where no lists of regions are to be sent to a client */

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

static void close_client(struct hm_damon_clients *clients, struct hm_damon_lease *lease)
{
    const struct hm_damon_moment before = hm_damon_moment();
    uid_t owner = lease->peer.owner;
    hm_damon_pauses_leave(&clients->pauses, lease);
    hm_damon_lease_close(clients->broker, lease);
    hm_damon_pauses_charge(&clients->pauses, owner, &before);
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

/* Takes a place from the user who has the most, if that user has more than `n_own` + 1. Returns the place, or NULL. */
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
    clients->accepts_ns = ended_ns + hm_least(RESTS * (ended_ns - begun_ns), SECOND_NS);
}

/* Has the client said nothing since it connected? Its first message may be waiting until its user's pause is over. */
static bool is_silent(const struct hm_damon_lease *lease, uint64_t now)
{
    char byte;
    return lease->asked_ns == 0 && now > lease->since_ns + SILENCE_NS &&
           recv(lease->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) < 0;
}

/* Is the connection closed, or has the process that made it ended (though another one may still hold it), or has the
 * client said nothing? What is still to be read from a closed connection is not worth any work. */
static bool is_gone(const struct hm_damon_lease *lease, const struct pollfd *said, const struct pollfd *ended,
                    uint64_t now)
{
    return (said->revents & ~POLLIN) != 0 || ended->revents != 0 || is_silent(lease, now);
}

/*
 * Does a's message go before b's? The one whose client was served longer ago goes first, so that each has its turn. A
 * new client goes before all that were served within ten seconds before it came: its step waits no longer than that for
 * the answer.
 */
static bool goes_before(const struct hm_damon_lease *a, const struct hm_damon_lease *b)
{
    uint64_t a_ns = a->asked_ns ? a->asked_ns + FIRST_NS : a->since_ns;
    uint64_t b_ns = b->asked_ns ? b->asked_ns + FIRST_NS : b->since_ns;
    return a_ns < b_ns;
}

static void serve(struct hm_damon_clients *clients, struct hm_damon_lease *lease)
{
    const struct hm_damon_moment before = hm_damon_moment();
    bool is_there = hm_damon_lease_serve(clients->broker, lease);
    hm_damon_pauses_charge(&clients->pauses, lease->peer.owner, &before);
    if (!is_there)
        close_client(clients, lease);
}

/* Serves one message: after it, others may have to wait. */
static void work(struct hm_damon_clients *clients, const struct pollfd *events)
{
    struct hm_damon_lease *next = NULL;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        struct hm_damon_lease *lease = &clients->lease[c];
        if (lease->fd < 0)
            continue;
        clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
        if (is_gone(lease, &events[c], &events[HM_DAMON_CLIENTS + c], clients->used_ns)) {
            close_client(clients, lease);
            continue;
        }
        const struct hm_damon_moment before = hm_damon_moment();
        if (hm_damon_lease_work(clients->broker, lease))
            hm_damon_pauses_charge(&clients->pauses, lease->peer.owner, &before);
        if (events[c].revents && (!next || goes_before(lease, next)))
            next = lease;
    }
    if (next)
        serve(clients, next);
}

/* How long poll may wait for this client, in ms: until the next lists of regions are to be sent to it, or its next
 * message may be read. */
static int wait_ms(const struct hm_damon_lease *lease, uint64_t turn, uint64_t now)
{
    int due_ms = hm_damon_lease_wait_ms(lease);
    if (due_ms < 0)
        due_ms = CHECK_NS / MS_NS;
    return now < turn ? (int)hm_least((uint64_t)due_ms, (turn - now) / MS_NS + 1) : due_ms;
}

/* Sets which descriptors of the clients poll waits for. Returns the longest wait in ms. */
static int prepare(const struct hm_damon_clients *clients, struct pollfd *events)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    int longest_ms = (int)(clients->idle_ns / MS_NS) + 1;
    for (int c = 0; c < HM_DAMON_CLIENTS; c++) {
        const struct hm_damon_lease *lease = &clients->lease[c];
        uint64_t turn = hm_damon_pauses_turn(&clients->pauses, lease);
        events[c] = (struct pollfd){.fd = lease->fd, .events = now >= turn ? POLLIN : 0};
        events[HM_DAMON_CLIENTS + c] = (struct pollfd){.fd = lease->fd < 0 ? -1 : lease->peer.pidfd, .events = POLLIN};
        if (lease->fd >= 0)
            longest_ms = (int)hm_least((uint64_t)longest_ms, (uint64_t)wait_ms(lease, turn, now));
    }
    return longest_ms;
}

void hm_damon_clients_serve(struct hm_damon_clients *clients)
{
    struct pollfd events[ALL];
    clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        int longest_ms = prepare(clients, events);
        uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
        int rest_ms = now < clients->accepts_ns ? (int)((clients->accepts_ns - now) / MS_NS) + 1 : 0;
        longest_ms = rest_ms > 0 && rest_ms < longest_ms ? rest_ms : longest_ms;
        events[LISTENER] = (struct pollfd){.fd = rest_ms > 0 ? -1 : clients->listener, .events = POLLIN};
        events[SIGNALS] = (struct pollfd){.fd = clients->signals, .events = POLLIN};
        if (poll(events, ALL, longest_ms) < 0 && errno != EINTR)
            return;
        if (events[SIGNALS].revents)
            return;
        work(clients, events);
        if (events[LISTENER].revents)
            accept_clients(clients);
        if (hm_clock_ns(CLOCK_MONOTONIC) - clients->used_ns < clients->idle_ns)
            continue;
        if (!hm_damon_lentlist_runs(clients->broker))
            return;
        clients->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    }
}

void hm_damon_clients_close(struct hm_damon_clients *clients)
{
    for (int c = 0; c < HM_DAMON_CLIENTS; c++)
        if (clients->lease[c].fd >= 0)
            hm_damon_lease_close(clients->broker, &clients->lease[c]);
}
