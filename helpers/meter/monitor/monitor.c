/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-monitor: samples the memory of one job on this node into a file that root has opened for it, until the job
 * ends or the monitor gets SIGTERM, SIGINT or SIGHUP. It also records what the node's counters of energy and traffic
 * count, and those of the job's resctrl group (--resctrl). To open the counters it is started as root, with --uid and
 * --gid; then it becomes the system user hybridmem. From then on it only reads kernel files, and asks helper programs
 * that it has started before (--papi, --slurm). These end when their standard input is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "arguments.h"
#include "base/clock.h"
#include "base/privilege.h"
#include "core/share/shares.h"
#include "meter.h"
#include "meter/memory/cgroup.h"
#include "meter/memory/guard.h"
#include "samples.h"

/* Time from the start to the second sample. For each further sample the time from the start is doubled, until
 * it reaches the interval: so the peaks of short jobs are seen, too. */
#define FIRST_WAIT_NS UINT64_C(10000000)

/*
 * The shortest and the longest time between two readings of the counters (the last reading, and one after a helper
 * program has joined, may come sooner). Counters cost more to read than the job's cgroup. The longest wait, with the
 * time for an answer, is short enough that no counter wraps twice in it: at the most that hm_quantity_most_per_s
 * allows, RAPL's platform counter of 262 kJ wraps after 13 s.
 */
#define METER_LEAST_NS (HM_SAMPLES_METER_LEAST * UINT64_C(900000000)) /* a little less, as a tick may come early */
#define METER_MOST_NS (HM_SAMPLES_METER_MOST * UINT64_C(1000000000))
_Static_assert(METER_MOST_NS + HM_PAPI_ANSWER_MS * UINT64_C(1000000) <= UINT64_C(10000000000),
               "no counter wraps twice");

#define NOT_YET "the job's cgroup " /* begins the only text that a later sample may replace */

struct monitor {
    struct hm_samples *samples;
    struct hm_cgroup cgroup;
    struct hm_node_map map;
    struct hm_guard guard;
    const char *cgroup_path;
    uint64_t started_ns;
    int signals;
    struct hm_monitor_meter meter;
    struct hm_shares *shares; /* NULL: none is kept for this job */
    uint32_t job_id;
};

/* When to take the next sample: at the next multiple of the interval, which is the same for every monitor of the node,
 * or at one of the early moments after the start. */
static uint64_t next_sample(const struct monitor *monitor, uint64_t now)
{
    uint64_t interval = (uint64_t)monitor->samples->interval_ms * 1000000;
    uint64_t tick = (now / interval + 1) * interval;
    uint64_t wait = FIRST_WAIT_NS;
    while (monitor->started_ns + wait <= now && wait < interval)
        wait *= 2;
    return wait < interval && monitor->started_ns + wait < tick ? monitor->started_ns + wait : tick;
}

/* Note `text`, which says what is missing, or is "". The first thing that was missing stays, whatever is read later.
 * Only the note that the job's cgroup is not there yet is replaced by any later text. */
static void keep_missing(struct hm_samples *samples, const char *text)
{
    bool may_replace = !samples->missing[0] || strncmp(samples->missing, NOT_YET, strlen(NOT_YET)) == 0;
    if (may_replace && strncmp(samples->missing, text, sizeof(samples->missing)) != 0)
        snprintf(samples->missing, sizeof(samples->missing), "%s", text);
}

/* Read the node's counters, unless they were read less than `at_least_ns` ago. */
static void read_meter(struct monitor *monitor, uint64_t at_least_ns)
{
    const struct hm_metered *metered = &monitor->samples->metered;
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    if (metered->n_readings == 0 || now - metered->last_mono_ns >= at_least_ns)
        hm_monitor_meter_read(&monitor->meter, monitor->samples, now);
}

/* Tell the migrators of other jobs what this job uses, in bytes that migrators move: without page cache. */
static void tell_use(const struct monitor *monitor, const struct hm_usage usage[HM_MAX_TIERS])
{
    uint64_t bytes[2] = {0};
    for (uint32_t tier = 0; tier < monitor->samples->n_tiers; tier++)
        bytes[tier > 0] = hm_usage_add(bytes[tier > 0], hm_usage_add(usage[tier].anon, usage[tier].shmem));
    hm_shares_note(monitor->shares, monitor->job_id, bytes[0], bytes[1]);
}

/* Take a sample of the job's memory. What cannot be read is noted in the samples, and tried again at the next tick.
 * Returns false where the job's cgroup was removed. */
static bool sample_memory(struct monitor *monitor)
{
    struct hm_samples *samples = monitor->samples;
    struct hm_reading reading;
    char text[HM_WARNING];
    if (monitor->cgroup.dir < 0 && hm_cgroup_open(&monitor->cgroup, monitor->cgroup_path) != 0) {
        snprintf(text, sizeof(text), NOT_YET "%s: %s", monitor->cgroup_path, strerror(errno));
        keep_missing(samples, text);
        return true;
    }
    if (hm_cgroup_read(&monitor->cgroup, &monitor->map, &reading) != 0)
        return false;
    keep_missing(samples, reading.missing);
    if (reading.peak_source != HM_PEAK_NONE && reading.peak >= samples->memory_peak) {
        samples->memory_peak = reading.peak;
        samples->peak_source = reading.peak_source;
    }
    if (reading.has_usage) {
        samples->has_hugetlb = samples->has_hugetlb || reading.has_hugetlb;
        if (monitor->shares)
            tell_use(monitor, reading.usage);
        hm_samples_add(samples, reading.usage, hm_clock_ns(CLOCK_REALTIME), hm_clock_ns(CLOCK_MONOTONIC));
    }
    return true;
}

/*
 * Sleep until the next sample is due. Returns true when the monitor is to end: a signal tells it to, the guard says
 * that the job has ended, or ppoll fails. In each sleep at most one event of the guard is looked at, so that the loop
 * cannot spin in any state of the guard; a later event is seen at the next tick.
 */
static bool wait_for_next(struct monitor *monitor)
{
    uint64_t begun = hm_clock_ns(CLOCK_MONOTONIC), due = next_sample(monitor, begun), meter_due = begun + METER_MOST_NS;
    bool watch = true;
    for (;;) {
        struct pollfd events[2 + HM_N_PROGRAMS] = {{.fd = monitor->signals, .events = POLLIN},
                                                   {.fd = watch ? monitor->guard.fd : -1, .events = POLLPRI}};
        int programs_ms = hm_monitor_meter_poll(&monitor->meter, events + 2);
        uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
        bool is_for_meter = meter_due < due;
        uint64_t next = is_for_meter ? meter_due : due, left = next > now ? next - now : 0;
        bool is_for_programs = programs_ms >= 0 && (uint64_t)programs_ms * 1000000 < left;
        if (is_for_programs)
            left = (uint64_t)programs_ms * 1000000;
        struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        int ready = ppoll(events, 2 + HM_N_PROGRAMS, &timeout, NULL);
        if (ready < 0 && errno != EINTR)
            return true;
        if (ready > 0 && events[0].revents)
            return true;
        hm_monitor_meter_hear(&monitor->meter, monitor->samples, hm_clock_ns(CLOCK_MONOTONIC));
        if (ready == 0 && !is_for_programs && !is_for_meter)
            return false;
        if (ready == 0 && !is_for_programs) {
            read_meter(monitor, 0);
            meter_due = hm_clock_ns(CLOCK_MONOTONIC) + METER_MOST_NS;
        }
        if (ready > 0 && events[1].revents) {
            watch = false;
            if (hm_guard_is_over(&monitor->guard, hm_clock_ns(CLOCK_MONOTONIC)))
                return true;
        }
    }
}

/* Sample until the end. The first sample of memory was taken before; `is_there` is its result. The counters' figures
 * begin here. */
static void run(struct monitor *monitor, bool is_there)
{
    bool told_to_end = false;
    read_meter(monitor, 0);
    while (is_there && !told_to_end && !hm_guard_is_over(&monitor->guard, hm_clock_ns(CLOCK_MONOTONIC))) {
        told_to_end = wait_for_next(monitor);
        read_meter(monitor, METER_LEAST_NS);
        is_there = sample_memory(monitor);
    }
    read_meter(monitor, 0);
    hm_monitor_meter_finish(&monitor->meter);
    hm_monitor_meter_hear(&monitor->meter, monitor->samples, hm_clock_ns(CLOCK_MONOTONIC));
    if (monitor->guard.fd < 0 && !monitor->samples->missing[0])
        keep_missing(monitor->samples, "the monitor ended early: its guard, a cgroup.events file, was not there");
    monitor->samples->finished = 1;
}

/* Set the handling of signals anew, whatever the process that started the monitor has blocked or ignored. Returns a
 * descriptor to poll for the signals that end the monitor, or -1. */
static int take_signals(void)
{
    sigset_t ending;
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, SIG_DFL);
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_SETMASK, &ending, NULL);
    return signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Look at the guard and sample memory once before the counters are looked for: finding counters may take longer than a
 * short job. Like all later samples, this one is taken without root's rights. Returns 0 and the result of the sample in
 * *is_there, or -1.
 */
static int sample_first(struct monitor *monitor, const struct hm_monitor_arguments *given, bool *is_there)
{
    bool is_root = given->uid != UINT64_MAX;
    if (is_root && hm_privilege_lower((uid_t)given->uid, (gid_t)given->gid) != 0) {
        fprintf(stderr, "hybridmem-monitor: cannot act as user %u: %s\n", (unsigned)given->uid, strerror(errno));
        return -1;
    }
    /* Remember that the guard was there: if it goes away meanwhile, the monitor does not wait for it. */
    hm_guard_is_over(&monitor->guard, monitor->started_ns);
    *is_there = sample_memory(monitor);
    if (is_root && hm_privilege_raise() != 0) {
        fprintf(stderr, "hybridmem-monitor: cannot open the counters as root: %s\n", strerror(errno));
        return -1;
    }
    return prctl(PR_SET_DUMPABLE, 0); /* see open_meter */
}

/*
 * Open the counters with root's rights, then give these up: reading open counters does not need them. Returns 0 or -1.
 */
static int open_meter(struct monitor *monitor, const struct hm_monitor_arguments *given)
{
    /* Stays open: a counter that was gone may come back. */
    int sysfs = open(given->sysfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (sysfs < 0) {
        fprintf(stderr, "hybridmem-monitor: --sysfs %s: %s\n", given->sysfs, strerror(errno));
        return -1;
    }
    hm_monitor_meter_open(&monitor->meter, sysfs, given->resctrl, &given->programs, monitor->samples);
    if (given->uid != UINT64_MAX && hm_privilege_drop((uid_t)given->uid, (gid_t)given->gid) != 0) {
        fprintf(stderr, "hybridmem-monitor: cannot become user %u: %s\n", (unsigned)given->uid, strerror(errno));
        return -1;
    }
    /* The change of the user may have made the process dumpable again. It must not be: root opened its descriptors. */
    return prctl(PR_SET_DUMPABLE, 0);
}

int main(int argc, char **argv)
{
    static struct monitor monitor = {.cgroup = {.dir = -1}};
    struct hm_monitor_arguments given;
    bool is_there;
    struct hm_error error = {0};
    prctl(PR_SET_DUMPABLE, 0);
    int status = hm_monitor_arguments_take(argc, argv, &given);
    if (status != 0)
        return status;
    monitor.cgroup_path = given.cgroup;
    monitor.samples = hm_samples_map((int)given.samples_fd, &error);
    if (!monitor.samples)
        fprintf(stderr, "hybridmem-monitor: %s\n", error.text);
    else
        close((int)given.samples_fd);
    if (given.shares) /* as root: no user reaches its folder */
        monitor.shares = hm_shares_map(given.shares, NULL);
    monitor.job_id = (uint32_t)given.job_id;
    /* Before the counters are looked for, which may take time: SIGTERM must not end the monitor without a sample. */
    monitor.signals = take_signals();
    if (!monitor.samples || monitor.signals < 0)
        return 1;
    monitor.started_ns = hm_clock_ns(CLOCK_MONOTONIC);
    hm_node_map_fill(&monitor.map, monitor.samples->tier_nodes, monitor.samples->n_tiers);
    hm_guard_init(&monitor.guard, given.guard, monitor.started_ns);
    if (sample_first(&monitor, &given, &is_there) != 0 || open_meter(&monitor, &given) != 0)
        return 1;
    run(&monitor, is_there);
    hm_cgroup_close(&monitor.cgroup);
    hm_monitor_meter_close(&monitor.meter);
    hm_shares_unmap(monitor.shares);
    return 0;
}
