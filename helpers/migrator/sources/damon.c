/* SPDX-License-Identifier: Apache-2.0 */
/* The source "damon": a client of the broker (damon/broker). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "brokerlink.h"
#include "damonround.h"
#include "damonwanted.h"
#include "migrator/damon/heat.h"
#include "rows.h"

/* time after which the broker is given up: it sends lists or a sign of life every 20 s at least, unless a process that
 * it watches, which may be another user's, does not let DAMON look at its memory */
#define SILENT_S 60
/* the share of the overhead for the kdamond and the broker; the migrator has the other half */
#define BUDGET_SHARE 0.5
/* Where neither the processes nor their mappings have changed, one update in so many looks how large they are. */
#define UPDATES 4
#define MOST_MESSAGES 16384 /* most messages handled in one call */

struct damon_source {
    struct hm_source base;
    int fd;
    uint64_t shape; /* of the processes and mappings by which `watch` was chosen last */
    unsigned n_updates;
    uint32_t n_unseen;                /* processes that were not watched at the last look */
    bool is_stale;                    /* the list of processes must be sent again */
    int way;                          /* hm_damon_way of the last list; -1: there was none */
    double heard_s;                   /* CLOCK_MONOTONIC of the last message of the broker, or to it */
    struct hm_damon_watch watch;      /* as last sent */
    uint32_t space[HM_DAMON_TARGETS]; /* of each process in `watch` */
    struct hm_damon_round round;
};

/* Asks for a kdamond before any process is known, and waits for the answer. */
static int reserve(struct damon_source *source, int stop, struct hm_error *error)
{
    union hm_damon_message reply;
    size_t size = hm_damon_wire_begin(&source->watch, HM_DAMON_WATCH, 1, 0);
    /* EPIPE: the broker has closed the connection, and has sent the reason before. */
    if (send(source->fd, &source->watch, size, MSG_NOSIGNAL) != (ssize_t)size && errno != EPIPE)
        return hm_fail_errno(error, "cannot ask the DAMON broker");
    if (hm_broker_wait(source->fd, stop, error) != 0)
        return -1;
    ssize_t length = recv(source->fd, &reply, sizeof(reply), MSG_TRUNC);
    if (length < 0 && errno == ECONNRESET) /* the broker closed without reading our message; its answer comes next */
        length = recv(source->fd, &reply, sizeof(reply), MSG_TRUNC);
    if (length < 0)
        return hm_fail_errno(error, "cannot read the DAMON broker's answer");
    if (length == 0)
        return hm_fail(error, ECONNREFUSED, "the DAMON broker has closed the connection");
    if (hm_damon_wire_check_reply(&reply, (size_t)length, error) != 0)
        return -1;
    return hm_broker_judge(&reply.answer, error);
}

/* Has the broker said nothing for too long, though it watches processes? */
static bool is_silent(const struct damon_source *source)
{
    char byte;
    return source->watch.head.n > 0 && hm_clock_s(CLOCK_MONOTONIC) - source->heard_s > SILENT_S &&
           recv(source->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) < 0;
}

/* Tells once how many processes are watched, when two looks find as many that are not: by then all have begun. */
static void note_unseen(struct damon_source *source, const struct hm_damon_wanted *wanted)
{
    char *text = source->base.state.partly, most[24];
    snprintf(most, sizeof(most), "at most at %d", HM_DAMON_TARGETS);
    const char *why = wanted->n_unseen > wanted->n_denied ? most : "not at those that are not dumpable";
    if (!text[0] && wanted->n_unseen > 0 && wanted->n_unseen == source->n_unseen)
        snprintf(text, HM_WARNING, "source %s looks at %u of %u processes, %s: what the others use is not known",
                 source->base.row->name, wanted->n, wanted->n + wanted->n_unseen, why);
    source->n_unseen = wanted->n_unseen;
}

/* Finds the numbers that the watched processes have now: a list of processes may have been made anew. */
static void find_spaces(struct damon_source *source, const struct hm_ranks *ranks)
{
    for (uint32_t i = 0; i < source->watch.head.n; i++) {
        int space = hm_ranks_space(ranks, source->watch.process[i].pid);
        source->space[i] = space >= 0 ? (uint32_t)space : HM_RANKS;
    }
}

static int update(struct hm_source *base, const struct hm_ranks *ranks, const struct hm_maps *maps,
                  struct hm_error *error)
{
    struct damon_source *source = (struct damon_source *)base;
    if (is_silent(source))
        return hm_fail(error, ETIMEDOUT, "the DAMON broker has sent nothing for %d s", SILENT_S);
    uint64_t shape = hm_damon_wanted_shape(ranks, maps);
    if (source->n_updates++ % UPDATES != 0 && !source->is_stale && shape == source->shape)
        return 0;
    if (shape != source->shape)
        find_spaces(source, ranks);
    struct hm_damon_wanted wanted = {.watch = source->watch};
    hm_damon_wanted_choose(&wanted, ranks, maps);
    source->shape = shape;
    note_unseen(source, &wanted);
    if (!source->is_stale && !hm_damon_wanted_is_news(&wanted, &source->watch, maps))
        return 0;
    size_t size = hm_damon_wire_begin(&wanted.watch, HM_DAMON_WATCH, source->watch.head.generation + 1, wanted.n);
    if (send(source->fd, &wanted.watch, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size) {
        source->is_stale = true;
        return errno == EAGAIN ? 0 : hm_fail_errno(error, "the DAMON broker is gone");
    }
    source->watch = wanted.watch;
    source->is_stale = false;
    source->heard_s = hm_clock_s(CLOCK_MONOTONIC);
    memcpy(source->space, wanted.space, wanted.n * sizeof(wanted.space[0]));
    return 0;
}

static void take_list(struct damon_source *source, const struct hm_ranks *ranks, const struct hm_damon_list *list,
                      hm_source_sink *sink, void *data)
{
    struct hm_observation observation[HM_DAMON_REGIONS];
    struct hm_source_state *state = &source->base.state;
    uint32_t at = list->process;
    state->lost = list->lost;
    state->kernel_cpu_s = (double)list->cpu_ns * 1e-9;
    if (list->head.generation != source->watch.head.generation || at >= source->watch.head.n)
        return;
    state->rounds = list->rounds;
    state->has_rounds = list->way == HM_DAMON_BURSTS;
    state->ways += source->way >= 0 && source->way != (int)list->way;
    source->way = (int)list->way;
    hm_damon_round_end(&source->round, list, ranks, sink, data);
    uint32_t space = source->space[at];
    if (space >= ranks->n || ranks->rank[space].pid != source->watch.process[at].pid)
        return; /* the process has ended, and another may have its slot */
    size_t n = 0;
    for (uint32_t i = 0; i < list->head.n; i++) {
        if (list->region[i].accesses > 0) {
            observation[n] = hm_damon_heat(&list->region[i], list->span_ms * 1e-3, space);
            observation[n].excess += (1 + observation[n].excess) * (float)list->scatter / 1000;
            n++;
        }
        state->period = list->region[i].look_us;
        state->samples += list->region[i].accesses;
    }
    hm_damon_round_add(&source->round, list, ranks->rank[space].pid, observation, n, sink, data);
}

static int read_lists(struct hm_source *base, const struct hm_ranks *ranks, hm_source_sink *sink, void *data,
                      struct hm_error *error)
{
    struct damon_source *source = (struct damon_source *)base;
    union hm_damon_message message;
    for (int n = 0; n < MOST_MESSAGES; n++) {
        ssize_t length = recv(source->fd, &message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
        if (length < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (length <= 0)
            return length < 0 ? hm_fail_errno(error, "the DAMON broker is gone")
                              : hm_fail(error, EPIPE, "the DAMON broker is gone");
        source->heard_s = hm_clock_s(CLOCK_MONOTONIC);
        if (hm_damon_wire_check_reply(&message, (size_t)length, error) != 0)
            return -1;
        if (message.head.kind == HM_DAMON_LIST)
            take_list(source, ranks, &message.list, sink, data);
        else if (message.answer.number == ESRCH)
            source->is_stale = true; /* a process ended meanwhile: the next update sends those that live then */
        else if (hm_broker_judge(&message.answer, error) != 0)
            return -1;
    }
    return 0;
}

static void close_source(struct hm_source *base)
{
    struct damon_source *source = (struct damon_source *)base;
    if (source->fd >= 0)
        close(source->fd);
    free(source);
}

static uint32_t bounded(double value, uint32_t least, uint32_t most)
{
    return value < least ? least : value > most ? most : (uint32_t)value;
}

static struct hm_source *open_looker(const struct hm_source_row *row, enum hm_damon_looker looker,
                                     const struct hm_source_setup *setup, struct hm_error *error)
{
    struct damon_source *source = calloc(1, sizeof(*source));
    if (!source) {
        hm_fail(error, ENOMEM, "no memory for the source %s", row->name);
        return NULL;
    }
    source->base = (struct hm_source){
        .row = row,
        .state = {.unit = hm_damon_touch(), .error = HM_DAMON_ERROR, .is_time = true, .counts_memory = true},
        .update = update,
        .read = read_lists,
        .close = close_source};
    snprintf(source->base.state.name, sizeof(source->base.state.name), "%s", row->name);
    source->is_stale = true;
    source->way = -1;
    source->watch.looker = looker;
    source->watch.interval_ms = bounded(setup->interval_ms, HM_DAMON_MIN_INTERVAL_MS, HM_DAMON_MAX_INTERVAL_MS);
    source->watch.budget = bounded(setup->overhead * BUDGET_SHARE * (setup->n_cpus > 0 ? setup->n_cpus : 1) * 1e6,
                                   HM_DAMON_MIN_BUDGET, HM_DAMON_MAX_BUDGET);
    source->fd = hm_broker_connect(setup->broker, setup->stop, HM_BROKER_PATIENCE_S, error);
    if (source->fd < 0 || reserve(source, setup->stop, error) != 0) {
        int number = errno;
        close_source(&source->base);
        errno = number;
        return NULL;
    }
    source->base.fd = source->fd;
    snprintf(source->base.state.how, sizeof(source->base.state.how), "through the broker %.100s", setup->broker);
    return &source->base;
}

static struct hm_source *open_damon(const struct hm_source_setup *setup, struct hm_error *error)
{
    return open_looker(&hm_source_damon, HM_DAMON_BY_KDAMOND, setup, error);
}

static struct hm_source *open_idle(const struct hm_source_setup *setup, struct hm_error *error)
{
    return open_looker(&hm_source_idle, HM_DAMON_BY_BITMAP, setup, error);
}

const struct hm_source_row hm_source_damon = {
    .name = "damon",
    .needs = "a kernel with DAMON (5.18 or later, CONFIG_DAMON_VADDR, CONFIG_DAMON_SYSFS) that nobody else uses, and "
             "the broker hybridmem-damon with a kdamond to spare",
    .knows = "address by region; whether a page was accessed between two looks, not by load or store; how often only "
             "where the time between two looks can be fitted to it",
    .cost =
        "a kernel thread and the broker, held to half of overhead= by the measured CPU time, and at first to all of it "
        "(for looks that never stop: the thread alone, to three tenths); it does not flush TLBs: pages whose "
        "translation stays cached look idle",
    .open = open_damon,
};

const struct hm_source_row hm_source_idle = {
    .name = "idle",
    .needs = "a kernel with idle page tracking (CONFIG_IDLE_PAGE_TRACKING), and the broker hybridmem-damon",
    .knows = "address by region; whether a page was accessed between two looks, not by load or store; how often only "
             "where the time between two looks can be fitted to it",
    .cost = "the broker, held to half of overhead= by the measured CPU time, and at first to all of it; it does not "
            "flush TLBs: pages whose translation stays cached look idle",
    .open = open_idle,
};
