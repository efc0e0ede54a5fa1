/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs hybridmem-migrator through up to a day of simulated time: its own code, from the command line to the end of the
 * step, over a simulated kernel (daysim.h). The memory and the descriptors that it holds are counted after each phase.
 * All hours are alike, so a later hour has more only if something grows with time, or with processes, mappings, threads
 * and sources that come and go. Not included: main(), the broker of DAMON, and what the kernel itself holds for real
 * events and moves.
 *
 *     day RANK FOLDER PHASES     one line of figures for each check, "ok" or "FAIL" before it. RANK is the program of
 *                                the job's processes (dayrank.c); the simulated files are in FOLDER.
 */
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/files.h"
#include "daysim.h"
#include "migrator/figures/viewclient.h"
#include "migrator/live/live.h"

#define PHASES 8640 /* most phases: 24 h */
#define MOST_DECIDER_BYTES (8 << 20)
#define ACCESSES 50 /* sampled accesses of a rank in a second, at the usual period */
#define FLOOD 80    /* ACCESSES times this, for a second every ten minutes: more than a ring holds */
#define N_SOURCES 3
#define END_MARGIN 1024 /* bytes of heap that the C library keeps */

enum held { HEAP, MAPPED, FILES, EXTENTS, DECIDER, N_HELD };

static const struct {
    const char *name;
    /* by how much the largest value of any later hour may exceed that of hour 1, and the last hour's mean that of
     * hour 2. What mappings are kept in grows to the largest list that was read, and lists are read in few phases: so
     * the most heap comes later than in hour 1, as some lists double then. Regions are most in a phase that is flooded
     * with samples: how many there are then is drawn anew in each hour, and has no limit but the memory. */
    double most, mean;
} held_rows[N_HELD] = {
    [HEAP] = {"bytes of heap in use", 16384, 384},
    [MAPPED] = {"bytes of address space", 2 << 20, 2 << 20},
    [FILES] = {"open descriptors", 0, 0},
    [EXTENTS] = {"regions", INFINITY, 30},
    [DECIDER] = {"bytes of the decision code", 0, 0},
};

static struct {
    struct hm_options options;
    struct hm_live live;
    unsigned n_phases, done; /* phases to run, and phases that are over */
    unsigned begun;          /* phases that the job has begun */
    uint64_t next_second;    /* CLOCK_MONOTONIC at the end of the present second */
    uint64_t start_ns, seconds;
    double held[PHASES][N_HELD];
    size_t peak; /* most bytes of the decision code */
    int viewer;  /* descriptor of a viewer (`hybridmem top`); -1: none */
    unsigned views;
    uint64_t by_source[N_SOURCES], rests; /* phases with each source; phases at rest */
    bool has_malloc; /* the allocator is the C library's, which tells what is in use, and not a sanitizer's */
    unsigned passed, failed;
} day = {.viewer = -1};

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);

/* ------------------------------------------------------------------ what is held */

static double count_files(void)
{
    double n = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        day_die("/proc/self/fd");
    while (readdir(folder))
        n++;
    closedir(folder);
    return n;
}

static void count_held(double held[N_HELD])
{
    char text[128];
    struct mallinfo2 heap = mallinfo2();
    size_t n = 0;
    if (hm_file_read_start("/proc/self/statm", text, sizeof(text)) != 0)
        day_die("/proc/self/statm");
    day.has_malloc = heap.arena > 0;
    held[HEAP] = (double)(heap.uordblks + heap.hblkhd);
    held[MAPPED] = strtod(text, NULL) * 4096;
    held[FILES] = count_files();
    if (day.live.decider)
        hm_decider_extents(day.live.decider, &n);
    held[EXTENTS] = (double)n;
    held[DECIDER] = day.live.decider ? (double)hm_decider_bytes(day.live.decider) : 0;
}

static void note_phase(void)
{
    static const char *const names[N_SOURCES] = {"perf", "damon", "faults"};
    count_held(day.held[day.done]);
    if (day.live.decider && hm_decider_bytes(day.live.decider) > day.peak)
        day.peak = hm_decider_bytes(day.live.decider);
    for (size_t i = 0; i < N_SOURCES && day.live.intake.source; i++)
        day.by_source[i] += strcmp(day.live.intake.source->state.name, names[i]) == 0;
    day.rests += day.live.rest.is_resting;
    day.done++;
}

/* ------------------------------------------------------------------ time */

/* Connects to the day's migrator. Returns a descriptor, or -1. */
static int find_migrator(struct hm_error *error)
{
    struct hm_view_name *names;
    ssize_t n = hm_view_list(&names, error);
    int fd = -1;
    for (ssize_t i = 0; i < n && fd < 0; i++)
        if (names[i].job_id == day.options.job_id && names[i].step_id == day.options.step_id)
            fd = hm_view_connect(&names[i], geteuid(), error);
    free(names);
    return fd;
}

/* A viewer (`hybridmem top`) asks in one phase, has its answer in the next, and goes. */
static void look(void)
{
    static struct hm_view view;
    struct hm_error error = {{0}};
    if (day.viewer < 0) {
        day.viewer = find_migrator(&error);
        if (day.viewer < 0 || send(day.viewer, "?", 1, MSG_NOSIGNAL) != 1)
            day_die(error.text);
        return;
    }
    if (recv(day.viewer, &view, sizeof(view), MSG_DONTWAIT) != sizeof(view) || hm_view_check(&view, &error) != 0)
        day_die("the view");
    close(day.viewer);
    day.viewer = -1;
    day.views++;
}

static void begin_phase(void)
{
    unsigned phase = day.begun % DAY_HOUR;
    if (day.begun == day.n_phases) {
        if (day.viewer >= 0)
            look();
        day_job_end();
        day_cgroup_end();
        return;
    }
    if (phase == 0)
        day_random_start(1);
    day_job_phase(phase);
    if (phase % 12 < 2)
        look();
}

/* What happens by itself in each second. */
static void end_second(void)
{
    unsigned phase = day.begun % DAY_HOUR;
    day.seconds++;
    bool is_flood = phase % 60 == 31 && day.seconds % 10 == 5;
    day_perf_sample(is_flood ? ACCESSES * FLOOD : ACCESSES, is_flood);
    if (day.seconds % 5 == 0)
        day_broker_aggregate();
}

/* Replaces ppoll, in which the migrator sleeps: time passes and the job goes on, until the migrator has something to
 * do. */
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    static const struct timespec at_once = {0};
    uint64_t left = (uint64_t)timeout->tv_sec * DAY_SECOND + (uint64_t)timeout->tv_nsec;
    day_perf_settle();
    day_broker_serve();
    for (;;) {
        int ready = __real_ppoll(fds, n, &at_once, mask);
        if (ready != 0)
            return ready;
        if (day.begun < day.live.shown.progress->phases) {
            day.begun++;
            note_phase();
            begin_phase();
            continue;
        }
        if (left == 0)
            return 0;
        uint64_t now = day_now_ns(), until = day.next_second > now ? day.next_second - now : 0;
        uint64_t step = left < until ? left : until;
        day_pass(step);
        left -= step;
        if (step == until) {
            day.next_second += DAY_SECOND;
            end_second();
        }
    }
}

/* ------------------------------------------------------------------ what came out */

static void check(bool is_right, const char *text)
{
    printf("%s %s\n", is_right ? "ok  " : "FAIL", text);
    *(is_right ? &day.passed : &day.failed) += 1;
}

static double most(enum held held, unsigned hour)
{
    double value = 0;
    for (unsigned i = hour * DAY_HOUR; i < (hour + 1) * DAY_HOUR; i++)
        value = day.held[i][held] > value ? day.held[i][held] : value;
    return value;
}

static double mean(enum held held, unsigned hour)
{
    double sum = 0;
    for (unsigned i = hour * DAY_HOUR; i < (hour + 1) * DAY_HOUR; i++)
        sum += day.held[i][held];
    return sum / DAY_HOUR;
}

static void check_held(enum held held, unsigned hours)
{
    char text[256];
    double first = most(held, 0), later = 0, second = mean(held, 1), last = mean(held, hours - 1);
    for (unsigned hour = 1; hour < hours; hour++)
        later = most(held, hour) > later ? most(held, hour) : later;
    snprintf(text, sizeof(text),
             "%s: at most %.0f in the first hour, %.0f in the %u after it; on average %.1f in the second, %.1f in the "
             "last (margins: %.0f, %.0f)",
             held_rows[held].name, first, later, hours - 1, second, last, held_rows[held].most, held_rows[held].mean);
    check(later <= first + held_rows[held].most && last <= second + held_rows[held].mean, text);
}

/* Check that the day had enough of all that may make something grow. Numbers that are multiplied by `whole` are the
 * least for an hour. */
static void check_day(void)
{
    char text[256];
    const struct day_counts *job = day_job_counts();
    double hours = (double)(day_now_ns() - day.start_ns) / 3600e9;
    unsigned whole = day.n_phases / DAY_HOUR;
    snprintf(text, sizeof(text), "%u phases of %u, %.2f h", day.done, day.n_phases, hours);
    check(day.done == day.n_phases && hours >= day.n_phases / 360.0, text);
    snprintf(text, sizeof(text), "phases with perf %llu, damon %llu, faults %llu, at rest %llu",
             (unsigned long long)day.by_source[0], (unsigned long long)day.by_source[1],
             (unsigned long long)day.by_source[2], (unsigned long long)day.rests);
    check(day.by_source[0] >= 100 * whole && day.by_source[1] >= 50 * whole && day.by_source[2] >= 30 * whole &&
              day.rests >= 10 * whole,
          text);
    snprintf(text, sizeof(text),
             "processes started %llu, threads %llu, mappings made %llu, gone %llu, jumps of what is hot %llu",
             (unsigned long long)job->ranks, (unsigned long long)job->threads, (unsigned long long)job->mapped,
             (unsigned long long)job->unmapped, (unsigned long long)job->jumps);
    check(job->ranks >= 100 * whole && job->threads >= 40 * whole && job->unmapped >= 100 * whole, text);
    const struct hm_progress *progress = day.live.shown.progress;
    unsigned long long windows = hm_softdirty_state(day.live.window.softdirty)->windows;
    uint64_t unmoved = 0;
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        unmoved += progress->unmoved_bytes[i] / 4096;
    snprintf(
        text, sizeof(text),
        "samples %llu, lost %llu, throttled %llu; pages up %llu, down %llu, not moved %llu; windows %llu; views %u",
        (unsigned long long)progress->samples, (unsigned long long)progress->lost,
        (unsigned long long)progress->throttled, (unsigned long long)progress->promoted_bytes / 4096,
        (unsigned long long)progress->demoted_bytes / 4096, (unsigned long long)unmoved, windows, day.views);
    check(progress->samples > 100000 * whole && progress->lost > 0 && progress->throttled > 0 && unmoved > 0 &&
              progress->promoted_bytes > 0 && progress->demoted_bytes > 0 && windows >= 100 * whole &&
              day.views >= 20 * whole,
          text);
    snprintf(text, sizeof(text), "the decision code's peak: %zu bytes (most: %d)", day.peak, MOST_DECIDER_BYTES);
    check(day.peak > 0 && day.peak < MOST_DECIDER_BYTES, text);
}

static void check_end(const double before[N_HELD])
{
    char text[256];
    double after[N_HELD];
    count_held(after);
    snprintf(text, sizeof(text), "after the end: heap %+.0f bytes, address space %+.0f bytes, descriptors %+.0f",
             after[HEAP] - before[HEAP], after[MAPPED] - before[MAPPED], after[FILES] - before[FILES]);
    check((!day.has_malloc ||
           (after[HEAP] <= before[HEAP] + END_MARGIN && after[MAPPED] <= before[MAPPED] + held_rows[MAPPED].most)) &&
              after[FILES] == before[FILES],
          text);
}

/* ------------------------------------------------------------------ in place of the migrator's main() */

static void run(const char *root)
{
    char broker[160], figures[160], job[16], fd[16], program[] = "day";
    struct hm_error error = {{0}};
    snprintf(broker, sizeof(broker), "%s/damon.sock", root);
    snprintf(figures, sizeof(figures), "%s/figures", root);
    snprintf(job, sizeof(job), "%d", (int)getpid());
    snprintf(fd, sizeof(fd), "%d", hm_progress_create(figures, 0, &error));
    char *argv[] = {program, "--cgroup", DAY_CGROUP, "--fast-nodes",  "0-1", "--slow-nodes",
                    "2-3",   "--cap",    "90%",      "--job",         job,   "--step",
                    "0",     "--broker", broker,     "--progress-fd", fd,    NULL};
    if (hm_options_parse(&day.options, (int)(sizeof(argv) / sizeof(argv[0])) - 1, argv, &error) != 0)
        day_die(error.text);
    hm_live_begin(&day.live, &day.options);
    if (hm_live_open(&day.live, &error) != 0)
        day_die(error.text);
    day.start_ns = day_now_ns();
    day.next_second = day.start_ns + DAY_SECOND;
    hm_live_run(&day.live);
}

int main(int argc, char **argv)
{
    double before[N_HELD];
    day.n_phases = argc == 4 ? (unsigned)atoi(argv[3]) : 0;
    if (day.n_phases == 0 || day.n_phases > PHASES) {
        fprintf(stderr, "usage: day RANK FOLDER PHASES (at most %d)\n", PHASES);
        return 2;
    }
    day_kernel_start(argv[2]);
    day_broker_start();
    day_random_start(1);
    setvbuf(stdout, NULL, _IONBF, 0); /* no buffer on the heap */
    count_held(before);
    day_job_start(argv[1]);
    run(argv[2]);
    check_day();
    for (unsigned held = 0; held < N_HELD && day.n_phases >= 3 * DAY_HOUR; held++)
        check_held(held, day.n_phases / DAY_HOUR);
    hm_live_close(&day.live);
    day_broker_drop();
    check_end(before);
    day_broker_end();
    prctl(PR_SET_DUMPABLE, 1); /* so that the sanitizer can look for leaks */
    printf("%u passed, %u failed\n", day.passed, day.failed);
    return day.failed > 0;
}
