/* SPDX-License-Identifier: Apache-2.0 */
/* The broker of DAMON of the simulated node (daysim.h), as its only client sees it: answers, and lists of regions with
 * their access counts. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daysim.h"
#include "migrator/damon/wire.h"

#define LOOKS 20       /* DAMON's looks at a region in one round */
#define LOOK_US 250000 /* time between two looks */
#define SPAN_MS 5000   /* time that a round takes */
#define PARTS 16       /* regions in a slot */
#define PAGE 4096

static struct {
    int listener, client; /* -1: none */
    struct hm_damon_watch watch;
    bool has_told; /* the client was told that a process has ended */
    uint64_t cpu_ns;
    uint32_t lost, rounds;
} broker = {.listener = -1, .client = -1};

int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

void day_broker_start(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.80s/damon.sock", day_root());
    unlink(address.sun_path);
    broker.listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (broker.listener < 0 || bind(broker.listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(broker.listener, 4) != 0)
        day_die(address.sun_path);
}

void day_broker_drop(void)
{
    if (broker.client >= 0)
        close(broker.client);
    broker.client = -1;
}

void day_broker_end(void)
{
    day_broker_drop();
    close(broker.listener);
    broker.listener = -1;
}

static void answer(uint32_t number, const char *text)
{
    struct hm_damon_answer answer = {.number = number};
    size_t size = hm_damon_wire_begin(&answer, HM_DAMON_ANSWER, broker.watch.head.generation, broker.watch.head.n);
    snprintf(answer.text, sizeof(answer.text), "%s", text);
    if (send(broker.client, &answer, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
        broker.lost++;
}

void day_broker_serve(void)
{
    struct hm_error error = {{0}};
    if (broker.client < 0) {
        broker.client = accept4(broker.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        broker.lost = broker.rounds = 0;
        broker.cpu_ns = 0;
    }
    while (broker.client >= 0) {
        ssize_t length = recv(broker.client, &broker.watch, sizeof(broker.watch), MSG_TRUNC);
        if (length == 0)
            day_broker_drop();
        if (length <= 0)
            return;
        if (hm_damon_wire_check_watch(&broker.watch, (size_t)length, &error) != 0)
            day_die(error.text);
        broker.has_told = false;
        if (broker.watch.looker != HM_DAMON_BY_KDAMOND) {
            answer(ENOENT, "no idle bitmap");
            day_broker_drop();
            return;
        }
        answer(0, "");
    }
}

/* Replaces poll: the migrator may be waiting for an answer. */
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    if (timeout_ms != 0)
        day_broker_serve();
    return __real_poll(fds, n, timeout_ms);
}

static void add_slot(struct hm_damon_list *list, const struct day_slot *slot, uint64_t first)
{
    uint64_t part = slot->n_pages / PARTS;
    for (uint64_t i = 0; i < PARTS && part > 0; i++) {
        bool is_hot = i * part + part > slot->hot && i * part < slot->hot + slot->n_pages / DAY_HOT_SHARE;
        list->region[list->head.n++] =
            (struct hm_damon_region){.start = (first + i * part) * PAGE,
                                     .end = (first + (i + 1) * part) * PAGE,
                                     .accesses = (uint16_t)(is_hot ? LOOKS - 4 + day_random(4) : day_random(2)),
                                     .looks = LOOKS,
                                     .look_us = LOOK_US};
    }
}

static void send_list(uint32_t process, const struct day_rank *rank)
{
    struct hm_damon_list list = {.process = process,
                                 .rounds = broker.rounds,
                                 .span_ms = SPAN_MS,
                                 .lost = broker.lost,
                                 .cpu_ns = broker.cpu_ns += 1000000};
    for (uint64_t i = 0; i < DAY_SLOTS; i++)
        add_slot(&list, &rank->slot[i], DAY_FIRST_PAGE + i * DAY_SLOT_SPAN);
    size_t size = hm_damon_wire_begin(&list, HM_DAMON_LIST, broker.watch.head.generation, list.head.n);
    if (send(broker.client, &list, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
        broker.lost++;
}

void day_broker_aggregate(void)
{
    day_broker_serve();
    if (broker.client < 0 || broker.watch.head.n == 0 || broker.has_told)
        return;
    for (uint32_t i = 0; i < broker.watch.head.n; i++) {
        if (!day_rank_find(broker.watch.process[i].pid)) {
            answer(ESRCH, "a process has ended");
            broker.has_told = true;
            return;
        }
    }
    for (uint32_t i = 0; i < broker.watch.head.n; i++)
        send_list(i, day_rank_find(broker.watch.process[i].pid));
    broker.rounds++;
}
