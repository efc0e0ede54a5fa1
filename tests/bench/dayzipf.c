/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs hybridmem-migrator for two minutes of simulated time (daysim.h) beside ranks whose accesses follow Zipf's law,
 * as tests/bench/zipf does in the guest: of a rank's blocks, the k-th in the order of heat gets a share of the accesses
 * that is proportional to k to the power of -S. The blocks are in random order. A page's looks are drawn by its exact
 * rate.
 *
 *     dayzipf RANK FOLDER MACHINE BLOCK S [SEED]
 *
 * RANK is the program of the ranks (dayrank.c); the simulated files are in FOLDER. MACHINE is a name in the table
 * below, BLOCK the size of a block in KiB. Prints a line of figures, with "ok" or "FAIL" before it.
 */
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "daysim.h"
#include "migrator/live/live.h"

#define RANKS 4
#define RANK_PAGES 10240 /* 40 MiB */
#define ROOM 4096        /* pages of the fast tier: 16 MiB */
#define SECONDS 120
#define MOST_CPU 0.02 /* of the job's CPU time */

/* A machine. Its CPU times are in ns. */
struct machine {
    const char *name;
    double rate;      /* accesses of all ranks per second */
    unsigned cpus;    /* of the step */
    double share;     /* of the time that a rank has a CPU */
    double evictions; /* per second, of each translation in a TLB: see daysim.h */
    struct day_page_costs page;
    struct day_visit_costs visit;
    uint64_t decide_ns; /* for each extent of a decision */
    double least;       /* share of the best share, with blocks of 64 KiB or more: less is a failure */
};

/*
 * "guest": as measured in the guest of tests/bench/zipf, where two ranks share a CPU. "node": a look of DAMON takes
 * 2.7 us, as measured with DAMON on a virtual machine with hardware support; all else is so much faster than in the
 * guest, too. Its TLB of 1536 entries loses one of them at each of a rank's 125 million misses per second. On a
 * processor that keeps the translations of the hottest pages for longer, these would seem less hot.
 */
static const struct machine machines[] = {
    {"guest",
     5.5e6,
     2,
     0.5,
     0,
     {.look_ns = 12000, .move_ns = 60000, .read_ns = 10000},
     {.burst_ns = 16000000, .set_up_ns = 50000, .look_ns = 25000, .pass_ns = 40000},
     50000,
     0.6},
    {"node",
     1e9,
     4,
     1,
     80000,
     {.look_ns = 1300, .move_ns = 6500, .read_ns = 1100},
     {.burst_ns = 1700000, .set_up_ns = 5400, .look_ns = 2700, .pass_ns = 4300},
     5400,
     0.8},
};

double day_share, day_evictions;

static struct {
    struct hm_options options;
    struct hm_live live;
    const struct machine *machine;
    unsigned block_pages;
    double exponent;
    double weight[RANKS][RANK_PAGES]; /* of each page: its share of all accesses */
    uint64_t begun_ns, looked_ns;
    double share_s, looked_s; /* the sum of shares times seconds over phases that have ended, and their seconds */
    double open_share_s, open_s;
    uint64_t phases;
    bool is_over;
} zipf;

int __real_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask);
void __real_hm_decider_end_phase(struct hm_decider *decider);
void __wrap_hm_decider_end_phase(struct hm_decider *decider);

/* Samples are of DAMON alone. */
uint64_t day_address(const struct day_rank *rank, bool *is_write)
{
    (void)rank, (void)is_write;
    return 0;
}

double day_rate(const struct day_rank *rank, uint64_t page)
{
    uint64_t within = page - DAY_FIRST_PAGE;
    return within < RANK_PAGES ? zipf.machine->rate * zipf.weight[rank - day_rank][within] : 0;
}

void __wrap_hm_decider_end_phase(struct hm_decider *decider)
{
    size_t n;
    __real_hm_decider_end_phase(decider);
    hm_decider_extents(decider, &n);
    day_work(n * zipf.machine->decide_ns);
}

/* ------------------------------------------------------------------ the program */

static void weigh(void)
{
    const double exponent = zipf.exponent;
    const uint64_t block_pages = zipf.block_pages;
    static uint32_t order[RANK_PAGES];
    uint64_t n = RANK_PAGES / block_pages;
    double sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += pow((double)i + 1, -exponent);
    for (int r = 0; r < RANKS; r++) {
        for (uint64_t i = 0; i < n; i++) {
            uint64_t other = day_random(i + 1);
            order[i] = order[other];
            order[other] = (uint32_t)i;
        }
        for (uint64_t page = 0; page < n * block_pages; page++)
            zipf.weight[r][page] = pow(order[page / block_pages] + 1.0, -exponent) / sum / (double)block_pages / RANKS;
    }
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static double best_share(void)
{
    static double sorted[RANKS * RANK_PAGES];
    double share = 0;
    memcpy(sorted, zipf.weight, sizeof(sorted));
    qsort(sorted, RANKS * RANK_PAGES, sizeof(sorted[0]), compare);
    for (int i = 0; i < ROOM; i++)
        share += sorted[i];
    return share;
}

static double share_now(uint64_t *fast_pages)
{
    double share = 0;
    *fast_pages = 0;
    for (int r = 0; r < RANKS; r++)
        for (uint64_t page = 0; page < RANK_PAGES; page++)
            if (day_rank[r].slot[0].node[page] < 2) {
                share += zipf.weight[r][page];
                ++*fast_pages;
            }
    return share;
}

/* ------------------------------------------------------------------ time */

/* Adds up what the fast tier has served, by phases: the migrator's estimate is of those that have ended. */
static void look(void)
{
    uint64_t pages, now = day_now_ns();
    double s = (double)(now - zipf.looked_ns) / 1e9;
    zipf.open_share_s += share_now(&pages) * s;
    zipf.open_s += s;
    zipf.looked_ns = now;
    if (zipf.live.shown.progress->phases == zipf.phases)
        return;
    zipf.phases = zipf.live.shown.progress->phases;
    zipf.share_s += zipf.open_share_s;
    zipf.looked_s += zipf.open_s;
    zipf.open_share_s = zipf.open_s = 0;
}

static void put_share(const char *name, double share)
{
    if (share < 0)
        printf(", %s null", name);
    else
        printf(", %s %.1f %%", name, share * 100);
}

/* Prints the figures, and checks them against the machine's limits. */
static void report(void)
{
    const struct hm_progress *progress = zipf.live.shown.progress;
    uint64_t pages;
    double share = share_now(&pages), best = best_share(), s = (double)(day_now_ns() - zipf.begun_ns) / 1e9;
    double cpu = (progress->cpu_s + progress->kernel_cpu_s) / (s * day_cpus);
    double truth = zipf.looked_s > 0 ? zipf.share_s / zipf.looked_s : -1, estimate = progress->fast_share;
    bool is_right = share >= best * (zipf.block_pages > 1 ? zipf.machine->least : 0) && cpu <= MOST_CPU;
    printf("%s %s, blocks of %u KiB, exponent %.1f: %.1f %% of the best share (%.1f of %.1f %%), %.2f %% of CPU time",
           is_right ? "ok  " : "FAIL", zipf.machine->name, 4 * zipf.block_pages, zipf.exponent, share / best * 100,
           share * 100, best * 100, cpu * 100);
    put_share("estimate", estimate);
    put_share("true", truth);
    printf(", %llu phases, %.1f MiB moved\n%d passed, %d failed\n", (unsigned long long)progress->phases,
           (double)(progress->promoted_bytes + progress->demoted_bytes) / (1 << 20), is_right, !is_right);
}

int __wrap_ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    static const struct timespec at_once = {0};
    uint64_t end = day_now_ns() + (uint64_t)timeout->tv_sec * DAY_SECOND + (uint64_t)timeout->tv_nsec;
    look();
    for (;;) {
        day_broker_serve();
        uint64_t due = day_bursts_work(), now = day_now_ns();
        int ready = __real_ppoll(fds, n, &at_once, mask);
        if (ready != 0)
            return ready;
        if (!zipf.is_over && now - zipf.begun_ns >= SECONDS * DAY_SECOND) {
            zipf.is_over = true;
            report();
            for (int r = 0; r < RANKS; r++)
                day_rank_end(&day_rank[r]);
            day_cgroup_end();
            continue;
        }
        if (now >= end)
            return 0;
        due = due < end ? due : end;
        due = due < now + DAY_SECOND ? due : now + DAY_SECOND;
        if (due > now)
            day_pass(due - now);
    }
}

/* ------------------------------------------------------------------ in place of the migrator's main() */

static void run(const char *root)
{
    char broker[160], figures[160], job[16], fd[16], program[] = "dayzipf";
    struct hm_error error = {{0}};
    snprintf(broker, sizeof(broker), "%s/damon.sock", root);
    snprintf(figures, sizeof(figures), "%s/figures", root);
    snprintf(job, sizeof(job), "%d", (int)getpid());
    snprintf(fd, sizeof(fd), "%d", hm_progress_create(figures, 0, &error));
    char *argv[] = {program, "--cgroup", DAY_CGROUP, "--fast-nodes", "0-1",  "--slow-nodes",  "2-3", "--job",
                    job,     "--step",   "0",        "--broker",     broker, "--progress-fd", fd,    NULL};
    if (hm_options_parse(&zipf.options, (int)(sizeof(argv) / sizeof(argv[0])) - 1, argv, &error) != 0)
        day_die(error.text);
    hm_live_begin(&zipf.live, &zipf.options);
    if (hm_live_open(&zipf.live, &error) != 0)
        day_die(error.text);
    hm_live_run(&zipf.live);
    hm_live_close(&zipf.live);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc >= 6 && i < sizeof(machines) / sizeof(machines[0]); i++)
        if (strcmp(machines[i].name, argv[3]) == 0)
            zipf.machine = &machines[i];
    zipf.block_pages = zipf.machine ? (unsigned)atoi(argv[4]) / 4 : 0;
    if (zipf.block_pages == 0) {
        fprintf(stderr, "usage: dayzipf RANK FOLDER guest|node BLOCK S [SEED]\n");
        return 2;
    }
    zipf.exponent = atof(argv[5]);
    day_cpus = zipf.machine->cpus;
    day_share = zipf.machine->share;
    day_evictions = zipf.machine->evictions;
    day_page_costs = zipf.machine->page;
    day_visit_costs = zipf.machine->visit;
    day_node_pages[0] = day_node_pages[1] = ROOM / 2;
    day_pinned = 0;
    day_kernel_start(argv[2]);
    day_write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
    day_broker_start();
    day_random_start(argc > 6 ? (uint64_t)atoi(argv[6]) : 1);
    day_perf_refuse(true);
    day_ranks_begin(argv[1]);
    for (int r = 0; r < RANKS; r++) {
        day_rank_start(&day_rank[r]);
        day_rank_map(&day_rank[r], &day_rank[r].slot[0], RANK_PAGES, false);
    }
    weigh();
    zipf.begun_ns = zipf.looked_ns = day_now_ns();
    run(argv[2]);
    day_broker_end();
    return 0;
}
