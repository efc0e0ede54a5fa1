/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "core/apply/policy.h"
#include "core/request/request.h"

/* A look finds processes that came or went, and reads sources whose descriptor cannot be polled. */
#define LOOKS_PER_PHASE 2
#define LOOK_LEAST_NS UINT64_C(10000000)
#define LOOK_MOST_NS UINT64_C(10000000000)
#define OWN_SHARE 0.5        /* part of the overhead for the migrator itself; the source has the other half */
#define SOFTDIRTY_SHARE 0.25 /* part of the overhead for soft-dirty marks, out of the migrator's own half */
/* Without a source, look for one this often: one may have become free. */
#define RETRY_NS UINT64_C(60000000000)

bool hm_live_is_told(void *data)
{
    const struct hm_live *live = data;
    struct pollfd event = {.fd = live->signals, .events = POLLIN};
    return poll(&event, 1, 0) > 0;
}

/* Sets all signals anew, as slurmstepd blocks some and its children inherit that. Returns a signalfd(2), or -1. */
static int take_signals(struct hm_error *error)
{
    sigset_t ending;
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, number == SIGPIPE ? SIG_IGN : SIG_DFL);
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_SETMASK, &ending, NULL);
    int fd = signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
    return fd >= 0 ? fd : hm_fail_errno(error, "cannot take signals");
}

/* The number of CPUs that the step may use. */
static unsigned count_cpus(const struct hm_options *options)
{
    char path[512], text[8192];
    struct hm_set cpus;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    snprintf(path, sizeof(path), "%s/cpuset.cpus.effective", options->cgroup);
    if (options->cgroup[0] && hm_file_read_start(path, text, sizeof(text)) == 0) {
        text[strcspn(text, "\n")] = '\0';
        if (hm_set_parse(&cpus, text, NULL) == 0 && hm_set_count(&cpus) > 0)
            return hm_set_count(&cpus);
    }
    return online > 0 ? (unsigned)online : 1;
}

static int open_progress(struct hm_live *live, struct hm_error *error)
{
    const struct hm_options *options = live->options;
    if (options->progress_fd >= 0) {
        live->shown.progress = hm_progress_map(options->progress_fd, error);
        if (live->shown.progress)
            close(options->progress_fd);
    } else {
        live->shown.progress = malloc(sizeof(*live->shown.progress));
        if (live->shown.progress)
            hm_progress_init(live->shown.progress, options->step_id);
        else
            hm_fail(error, ENOMEM, "no memory for the figures");
    }
    if (!live->shown.progress)
        return -1;
    snprintf(live->shown.progress->algorithm, sizeof(live->shown.progress->algorithm), "%s", options->algorithm);
    snprintf(live->shown.progress->hot_by, sizeof(live->shown.progress->hot_by), "%s",
             hm_hot_by_name(options->hot_by_writes ? HM_HOT_BY_WRITES : HM_HOT_BY_ACCESSES));
    live->shown.progress->interval_ms = options->interval_ms;
    return 0;
}

static void open_cap(struct hm_live *live)
{
    const struct hm_options *options = live->options;
    live->cap_pages = UINT64_MAX;
    if (options->cap_percent >= 0)
        live->cap_pages = (uint64_t)((double)hm_nodes_fast_total(&live->nodes) * options->cap_percent / 100 / 4096);
    else if (options->cap_bytes != UINT64_MAX)
        live->cap_pages = options->cap_bytes / 4096;
    /* In the figures 0 means "no cap", so a cap of 0 is shown as one byte. */
    if (live->cap_pages != UINT64_MAX)
        live->shown.progress->capacity_bytes = live->cap_pages > 0 ? live->cap_pages * 4096 : 1;
}

static void open_usage(struct hm_live *live)
{
    const struct hm_set tiers[2] = {live->options->fast, live->options->slow};
    hm_node_map_fill(&live->account.node_map, tiers, 2);
    live->account.has_cgroup =
        live->options->cgroup[0] && hm_cgroup_open(&live->account.cgroup, live->options->cgroup) == 0;
}

/* Warns if the kernel's own tiering is on: it moves the same pages by other rules. */
static void warn_of_kernel(struct hm_live *live)
{
    char text[64];
    if (hm_file_read_start("/proc/sys/kernel/numa_balancing", text, sizeof(text)) == 0 && (atoi(text) & 2))
        hm_progress_warn(live->shown.progress,
                         "the kernel moves pages between the tiers as well: kernel.numa_balancing is 2; "
                         "set it to 0 or 1");
    if (hm_file_read_start("/sys/kernel/mm/numa/demotion_enabled", text, sizeof(text)) == 0 &&
        (text[0] == 't' || text[0] == '1'))
        hm_progress_warn(live->shown.progress, "the kernel moves pages between the tiers as well: "
                                               "/sys/kernel/mm/numa/demotion_enabled is on; write 0 to it");
}

/* Asks for slow memory for this process itself, if the kernel can do that: it should take no room in the fast tier. */
static void keep_to_slow(const struct hm_options *options)
{
    const struct hm_plan plan = {.policy = HM_POLICY_PREFERRED_MANY, .nodes = options->slow};
    (void)hm_policy_apply(&plan, NULL);
}

int hm_live_open(struct hm_live *live, const struct hm_options *options, struct hm_error *error)
{
    static char guard[512];
    struct hm_error text = {{0}};
    keep_to_slow(options);
    *live = (struct hm_live){.options = options, .signals = -1};
    live->shown.viewserver.listener = -1;
    for (int i = 0; i < HM_VIEWSERVER_CLIENTS; i++)
        live->shown.viewserver.client[i] = -1;
    live->guard.fd = -1;
    live->account.cgroup.dir = -1;
    /*
     * This comes first: root's file is mapped and its descriptor closed, so that no other process can take the
     * descriptor and make the file grow.
     */
    if (open_progress(live, error) != 0)
        return -1;
    /* The test of soft-dirty marks reads this process's own page map, which a process that is not dumpable may not. */
    prctl(PR_SET_DUMPABLE, 1);
    live->window.softdirty =
        hm_softdirty_new(options->overhead * SOFTDIRTY_SHARE, count_cpus(options), options->hot_by_writes, NULL);
    prctl(PR_SET_DUMPABLE, 0);
    live->signals = take_signals(error);
    if (live->signals < 0)
        return -1;
    if ((options->cgroup[0]
             ? hm_ranks_init(&live->intake.ranks, options->cgroup, geteuid(), error)
             : hm_ranks_init_list(&live->intake.ranks, options->pid, options->n_pids, geteuid(), error)) != 0 ||
        hm_nodes_init(&live->nodes, &options->fast, &options->slow, options->reserve_bytes, error) != 0)
        return -1;
    live->intake.maps = calloc(HM_RANKS, sizeof(*live->intake.maps));
    live->window.begun = calloc(HM_RANKS, sizeof(*live->window.begun));
    live->gaps = calloc(HM_LIVE_GAPS, sizeof(*live->gaps));
    if (!live->intake.maps || !live->window.begun || !live->gaps)
        return hm_fail(error, ENOMEM, "no memory for mappings");
    if (hm_mover_init(&live->mover, &live->nodes, &live->intake.ranks, live->intake.maps, hm_live_is_told, live,
                      error) != 0)
        return -1;
    live->residence = (struct hm_residence){&live->intake.ranks, live->intake.maps, &live->nodes, live->mover.batch};
    live->account.n_cpus = count_cpus(options);
    live->account.pace = (struct hm_pace){.interval_ms = options->interval_ms,
                                          .phase_samples = options->phase_samples,
                                          .rate = options->rate,
                                          .end_s = options->end_s};
    hm_tally_init(&live->account.tally, options->seed, options->hot_by_writes);
    open_cap(live);
    open_usage(live);
    hm_purse_init(&live->account.purse, options->overhead * OWN_SHARE, hm_live_job_s(live));
    live->rest.is_resting = true; /* until hm_live_rest decides at the first look */
    warn_of_kernel(live);
    if (options->has_job && hm_viewserver_open(&live->shown.viewserver, options->job_id, options->step_id, &text) != 0)
        hm_progress_warn(live->shown.progress, text.text);
    snprintf(guard, sizeof(guard), "%s%s", options->guard[0] ? options->guard : options->cgroup,
             options->guard[0] ? "" : "/cgroup.events");
    hm_guard_init(&live->guard, guard, hm_clock_ns(CLOCK_MONOTONIC));
    live->shown.view.job_id = options->job_id;
    return 0;
}

void hm_live_close(struct hm_live *live)
{
    hm_live_close_source(live);
    hm_softdirty_free(live->window.softdirty);
    hm_viewserver_close(&live->shown.viewserver);
    hm_mover_free(&live->mover);
    for (uint32_t i = 0; live->intake.maps && i < HM_RANKS; i++)
        hm_maps_free(&live->intake.maps[i]);
    for (uint32_t i = 0; live->window.begun && i < HM_RANKS; i++)
        hm_maps_free(&live->window.begun[i]);
    hm_maps_free(&live->intake.scratch);
    free(live->window.begun);
    free(live->intake.maps);
    free(live->gaps);
    hm_ranks_free(&live->intake.ranks);
    if (live->account.has_cgroup)
        hm_cgroup_close(&live->account.cgroup);
    if (live->guard.fd >= 0)
        close(live->guard.fd);
    if (live->signals >= 0)
        close(live->signals);
    if (live->shown.progress && live->options->progress_fd >= 0)
        hm_progress_unmap(live->shown.progress);
    else
        free(live->shown.progress);
}

/* The step has ended when the guard says so; without a guard (single processes), when no process is left. */
static bool is_over(struct hm_live *live, int n_living)
{
    if (live->options->cgroup[0] || live->options->guard[0])
        return hm_guard_is_over(&live->guard, hm_clock_ns(CLOCK_MONOTONIC));
    return n_living <= 0;
}

static uint64_t look_every(const struct hm_live *live)
{
    uint64_t every = live->options->interval_ms * 1000000 / LOOKS_PER_PHASE;
    if (live->rest.is_resting)
        return every * LOOKS_PER_PHASE;
    if (live->intake.source && live->intake.source->poll_ms > 0 &&
        live->intake.source->poll_ms * UINT64_C(1000000) < every)
        every = live->intake.source->poll_ms * UINT64_C(1000000);
    return every < LOOK_LEAST_NS ? LOOK_LEAST_NS : every > LOOK_MOST_NS ? LOOK_MOST_NS : every;
}

/* Answers clients of the view that ask, with up-to-date figures. */
static void serve(struct hm_live *live, const struct pollfd *events)
{
    bool is_asked = false;
    for (int i = 0; i < HM_VIEWSERVER_FDS; i++)
        is_asked = is_asked || events[i].revents;
    if (!is_asked)
        return;
    hm_live_update_figures(live);
    live->shown.view.progress = *live->shown.progress;
    hm_viewserver_serve(&live->shown.viewserver, events, &live->shown.view);
}

enum { SIGNALS, GUARD, SOURCE, VIEW, N_EVENTS = VIEW + HM_VIEWSERVER_FDS };

/* Sleeps until `due` or an event. Returns false when told to end. */
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
    if (live->rest.is_resting)
        hm_live_rest(live);
    if (!live->rest.is_resting && !live->intake.source && now >= live->intake.try_source_ns) {
        live->intake.n_dead = 0;
        hm_live_open_source(live);
        hm_live_read_maps(live); /* they were not read while it rested */
        live->intake.try_source_ns = now + RETRY_NS;
    }
    if (is_over(live, hm_live_look(live)))
        return false;
    if (live->intake.source && live->intake.source->fd < 0 &&
        (live->intake.source->poll_ms > 0 || live->account.pace.phase_samples > 0))
        hm_live_read_source(live);
    hm_live_update_figures(live);
    return true;
}

void hm_live_run(struct hm_live *live)
{
    uint64_t next_look = 0;
    bool watch_guard = true;
    live->phase_start_ns = hm_clock_ns(CLOCK_MONOTONIC);
    live->shown.progress->state = HM_PROGRESS_RUNNING;
    for (;;) {
        uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
        if (now >= next_look) {
            if (!look(live, now))
                break;
            watch_guard = true;
            next_look = now + look_every(live);
        }
        if (hm_pace_is_over(&live->account.pace, live->phase_start_ns, now,
                            hm_live_samples(live) - live->phase_first_sample))
            hm_live_end_phase(live);
        uint64_t due = hm_pace_due(&live->account.pace, live->phase_start_ns), window = hm_live_window_due(live, now);
        if (now >= window) {
            if (hm_live_is_paid(live))
                hm_live_begin_window(live);
            window = UINT64_MAX;
        }
        due = due < next_look ? due : next_look;
        if (!wait_until(live, due < window ? due : window, &watch_guard))
            break;
    }
    hm_live_update_figures(live);
    live->shown.progress->state = HM_PROGRESS_ENDED;
}
