/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of the live migrator: waits for samples, signals and the end of a phase, and looks at the step. */
#include "live.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/amount.h"
#include "base/clock.h"

/*
 * A look finds processes that came or went. If a phase ends after a number of samples, it reads a source without a
 * descriptor to poll.
 */
#define LOOKS_PER_PHASE 2
#define LOOK_LEAST_NS UINT64_C(10000000)
#define LOOK_MOST_NS UINT64_C(10000000000)
/* A step's processes begin in its first seconds: then, there is a look each time that its age has doubled. */
#define LOOK_YOUNG_NS UINT64_C(1000000000)
/* Without a source, look for one this often: a kdamond may have become free. */
#define RETRY_NS UINT64_C(60000000000)
/* Lengths of a phase: a step that is above its cap or share waits no longer for the end of a round. */
#define ROUND_MOST 30

bool hm_live_is_told(void *data)
{
    const struct hm_live *live = data;
    struct pollfd event = {.fd = live->signals, .events = POLLIN};
    return poll(&event, 1, 0) > 0;
}

void hm_live_begin_phase(struct hm_live *live, uint64_t now)
{
    live->account.pace.longer = 0;
    live->is_overdue = false;
    live->phase_start_ns = now;
    live->phase_first_sample = hm_live_samples(live);
    live->phase_first_round = live->intake.source ? live->intake.source->state.rounds : 0;
}

/* Does the phase wait for the end of a round of looks? However long the round takes: memory that it has not come to
 * would pass for cold. A dead source is replaced. */
static bool waits_for_looks(const struct hm_live *live)
{
    return !live->rest.is_resting && live->intake.source && !hm_live_has_looked(live) && !live->is_overdue;
}

/* Each new list of processes begins a round anew: where processes come and go all the time, none ends. The cap, and
 * what other jobs have a right to, are kept all the same. */
void hm_live_look_at_limits(struct hm_live *live, uint64_t now)
{
    if (waits_for_looks(live) && now >= live->phase_start_ns + ROUND_MOST * live->options->interval_ms * 1000000)
        live->is_overdue = hm_live_is_above(live);
}

bool hm_live_phase_is_over(const struct hm_live *live, uint64_t now)
{
    return !waits_for_looks(live) && hm_pace_is_over(&live->account.pace, live->phase_start_ns, now,
                                                     hm_live_samples(live) - live->phase_first_sample);
}

/* The step has ended when the guard says so (meter/memory/guard.h); without one (single processes), when no process is
 * left. */
static bool is_over(struct hm_live *live, int n_living)
{
    if (live->options->cgroup[0] || live->options->guard[0])
        return hm_guard_is_over(&live->guard, hm_clock_ns(CLOCK_MONOTONIC));
    return n_living <= 0;
}

static uint64_t look_every(const struct hm_live *live, uint64_t now)
{
    uint64_t every = live->options->interval_ms * 1000000 / LOOKS_PER_PHASE;
    if (live->rest.is_resting)
        return every * LOOKS_PER_PHASE;
    every = hm_least(every, hm_most(now - live->account.begun_ns, LOOK_YOUNG_NS));
    return every < LOOK_LEAST_NS ? LOOK_LEAST_NS : every > LOOK_MOST_NS ? LOOK_MOST_NS : every;
}

/* When a source that asks for it (poll_ms) is to be read again. */
static uint64_t read_due(const struct hm_live *live)
{
    const struct hm_source *source = live->intake.source;
    return source && source->poll_ms > 0 ? live->intake.read_ns + source->poll_ms * UINT64_C(1000000) : UINT64_MAX;
}

/* Answers clients of the view that ask, with up-to-date figures. */
static void serve(struct hm_live *live, const struct pollfd *events)
{
    bool is_asked = false;
    for (int i = 1; i < HM_VIEWSERVER_FDS; i++) /* the first is the listener */
        is_asked = is_asked || events[i].revents;
    if (is_asked) {
        hm_live_update_figures(live);
        live->shown.view.progress = *live->shown.progress;
    }
    hm_viewserver_serve(&live->shown.viewserver, events, &live->shown.view);
}

enum { SIGNALS, GUARD, SOURCE, VIEW, N_EVENTS = VIEW + HM_VIEWSERVER_FDS };

/* Sleeps until `due` or an event. Returns false where the loop has to end: a signal came, the step is over, or poll has
 * failed. */
static bool wait_until(struct hm_live *live, uint64_t due, bool *watch_guard)
{
    struct pollfd events[N_EVENTS] = {
        [SIGNALS] = {.fd = live->signals, .events = POLLIN},
        /* The guard is polled once per look only: so no state of its file can make this loop spin. */
        [GUARD] = {.fd = *watch_guard ? live->guard.fd : -1, .events = POLLPRI},
        [SOURCE] = {.fd = live->intake.source ? live->intake.source->fd : -1, .events = POLLIN},
    };
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC), left = due > now ? due - now : 0;
    struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
    hm_viewserver_watch(&live->shown.viewserver, events + VIEW);
    int ready = ppoll(events, N_EVENTS, &timeout, NULL);
    if (ready < 0)
        return errno == EINTR;
    if (events[SIGNALS].revents)
        return false;
    if (events[GUARD].revents) {
        *watch_guard = false;
        if (is_over(live, 0))
            return false;
    }
    if (events[SOURCE].revents)
        hm_live_read_source(live);
    serve(live, events + VIEW);
    return true;
}

/* Looks at processes and sources. Returns false when the step is over. */
static bool look(struct hm_live *live, uint64_t now)
{
    int living = 0;
    live->shown.viewserver.is_shut = false;
    if (live->rest.is_resting) {
        living = hm_live_look(live);
        hm_live_look_at_rest(live);
    }
    if (!live->rest.is_resting && !live->intake.source && now >= live->intake.try_source_ns) {
        live->intake.n_dead = 0;
        hm_live_open_source(live);
        live->intake.try_source_ns = now + RETRY_NS;
    }
    if (!live->rest.is_resting)
        living = hm_live_look(live); /* a source that was just opened is told of the processes, too */
    if (is_over(live, living))
        return false;
    if (live->intake.source && live->intake.source->fd < 0 && live->account.pace.phase_samples > 0)
        hm_live_read_source(live);
    hm_live_look_at_growth(live, now);
    hm_live_look_at_limits(live, now);
    hm_live_update_figures(live);
    return true;
}

void hm_live_run(struct hm_live *live)
{
    uint64_t next_look = 0;
    bool watch_guard = true;
    hm_live_begin_phase(live, hm_clock_ns(CLOCK_MONOTONIC));
    live->shown.progress->state = HM_PROGRESS_RUNNING;
    for (;;) {
        uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
        if (now >= next_look) {
            if (!look(live, now))
                break;
            watch_guard = true;
            next_look = now + look_every(live, now);
        }
        if (now >= read_due(live))
            hm_live_read_source(live);
        if (hm_live_phase_is_over(live, now))
            hm_live_end_phase(live);
        now = hm_clock_ns(CLOCK_MONOTONIC); /* a phase may have begun since */
        uint64_t window = hm_live_window_due(live, now);
        uint64_t due = waits_for_looks(live) ? UINT64_MAX : hm_pace_due(&live->account.pace, live->phase_start_ns);
        if (now >= window) {
            if (hm_live_is_paid(live))
                hm_live_begin_window(live);
            window = UINT64_MAX;
        }
        due = hm_least(hm_least(due, window), hm_least(next_look, read_due(live)));
        if (!wait_until(live, due, &watch_guard))
            break;
    }
    hm_live_look_at_cost(live);
    hm_live_update_figures(live);
    if (hm_tally_is_saturated(&live->account.tally))
        hm_progress_warn(live->shown.progress,
                         "what the fast tier served, or could at best, is not known: the samples tell what is in use, "
                         "not how often; source=perf counts; with damon or idle a larger overhead= may help");
    live->shown.progress->state = HM_PROGRESS_ENDED;
}
