/* SPDX-License-Identifier: Apache-2.0 */
/* The job of the simulated node (daysim.h): starts its processes (dayrank.c), and decides what they do in each phase of
 * an hour. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dayorder.h"
#include "daysim.h"
#include "migrator/replay/sampler.h"

#define PAGE UINT64_C(4096)
/* Ranks that always have a process, one after another. BURST others have one for two phases. */
#define STEADY 4
#define BURST 12
#define HOT_IN_TEN 8 /* of ten accesses, this many go to the hot part */

struct day_rank day_rank[DAY_RANKS];
static struct day_counts counts;
static struct hm_random random_state;
static char *program; /* the program of a rank */
extern char **environ;

uint64_t day_random(uint64_t below)
{
    return hm_random_below(&random_state, below);
}

void day_random_start(uint64_t seed)
{
    random_state = (struct hm_random){seed};
}

const struct day_counts *day_job_counts(void)
{
    return &counts;
}

/* ------------------------------------------------------------------ orders to the processes */

static int give(const struct day_rank *rank, struct order order)
{
    int result = -1;
    if (write(rank->socket, &order, sizeof(order)) != sizeof(order) ||
        read(rank->socket, &result, sizeof(result)) != sizeof(result) || result < 0)
        day_die("a process of the job does not do what it should");
    return result;
}

static uint64_t address_of(const struct day_rank *rank, const struct day_slot *slot)
{
    return (DAY_FIRST_PAGE + (uint64_t)(slot - rank->slot) * DAY_SLOT_SPAN) * PAGE;
}

static void jump(struct day_slot *slot)
{
    slot->hot = day_random(slot->n_pages - slot->n_pages / DAY_HOT_SHARE);
    counts.jumps++;
}

static void map(struct day_rank *rank, struct day_slot *slot, uint64_t n_pages, bool only_fast)
{
    static const enum day_kind kinds[DAY_SLOTS] = {DAY_PLAIN, DAY_HUGE, DAY_PLAIN, DAY_SHARED, DAY_PLAIN, DAY_PIECES};
    enum day_kind kind = kinds[slot - rank->slot];
    uint64_t piece = kind == DAY_PIECES ? DAY_FRAGMENT * PAGE : n_pages * PAGE;
    give(rank, (struct order){ORDER_MAP, address_of(rank, slot), n_pages * PAGE, piece,
                              kind == DAY_PIECES ? 2 * piece : piece});
    day_pages_map(slot, n_pages, kind, only_fast);
    jump(slot);
    counts.mapped++;
}

static void unmap(struct day_rank *rank, struct day_slot *slot)
{
    if (slot->n_pages == 0)
        return;
    give(rank, (struct order){.kind = ORDER_UNMAP, .address = address_of(rank, slot), .bytes = slot->n_pages * PAGE});
    day_pages_unmap(slot);
    counts.unmapped++;
}

static void add_thread(struct day_rank *rank)
{
    rank->thread[rank->n_threads] = give(rank, (struct order){.kind = ORDER_THREAD});
    rank->n_threads++;
    counts.threads++;
}

static void drop_thread(struct day_rank *rank)
{
    pid_t thread = give(rank, (struct order){.kind = ORDER_JOIN});
    rank->n_threads--;
    day_perf_end_thread(thread);
}

static void start_rank(struct day_rank *rank)
{
    char *argv[] = {program, NULL};
    int pair[2];
    sigset_t none;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigemptyset(&none);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0 || posix_spawn_file_actions_init(&files) != 0 ||
        posix_spawnattr_init(&attributes) != 0 ||
        posix_spawn_file_actions_adddup2(&files, pair[1], STDIN_FILENO) != 0 ||
        posix_spawnattr_setsigmask(&attributes, &none) != 0 ||
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK) != 0)
        day_die("cannot start a process");
    errno = posix_spawn(&rank->pid, program, &files, &attributes, argv, environ);
    if (errno)
        day_die("cannot start a process");
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    close(pair[1]);
    rank->socket = pair[0];
    day_cgroup_add(rank->pid);
    counts.ranks++;
}

static void end_rank(struct day_rank *rank)
{
    int status;
    day_perf_end_thread(rank->pid);
    for (; rank->n_threads > 0; rank->n_threads--)
        day_perf_end_thread(rank->thread[rank->n_threads - 1]);
    for (int i = 0; i < DAY_SLOTS; i++)
        day_pages_unmap(&rank->slot[i]);
    close(rank->socket);
    if (waitpid(rank->pid, &status, 0) != rank->pid || status != 0)
        day_die("a process of the job has failed");
    day_cgroup_remove(rank->pid);
    rank->pid = 0;
}

/* ------------------------------------------------------------------ the hours */

static void fill(struct day_rank *rank, bool only_fast)
{
    for (int i = 0; i < DAY_SLOTS; i++)
        map(rank, &rank->slot[i], only_fast ? DAY_SLOT_PAGES / 16 : DAY_SLOT_PAGES, only_fast);
}

static void replace(struct day_rank *rank)
{
    end_rank(rank);
    start_rank(rank);
    fill(rank, false);
    add_thread(rank);
}

/* Gives each of the STEADY ranks little memory, in the fast tier alone, or a lot of memory. */
static void refill(bool only_fast)
{
    for (int i = 0; i < STEADY; i++)
        for (int s = 0; s < DAY_SLOTS; s++)
            unmap(&day_rank[i], &day_rank[i].slot[s]);
    for (int i = 0; i < STEADY; i++)
        fill(&day_rank[i], only_fast);
}

/* Starts or ends many short-lived processes. */
static void burst(bool begins)
{
    for (int i = STEADY; i < STEADY + BURST; i++) {
        if (!begins) {
            end_rank(&day_rank[i]);
            continue;
        }
        start_rank(&day_rank[i]);
        map(&day_rank[i], &day_rank[i].slot[0], 64, true);
    }
}

static void change_source(unsigned phase)
{
    if (phase == 0 || phase == DAY_REST_FROM)
        day_perf_refuse(false);
    if (phase == DAY_DAMON_FROM) { /* with new processes, as the open events of the old ones go on */
        day_perf_refuse(true);
        for (int i = 0; i < STEADY; i++)
            replace(&day_rank[i]);
    }
    if (phase == DAY_FAULTS_FROM)
        day_broker_drop();
    if (phase == DAY_REST_FROM || phase == DAY_WORK_FROM)
        refill(phase == DAY_REST_FROM);
}

void day_job_phase(unsigned phase)
{
    struct day_rank *rank = &day_rank[phase / 15 % STEADY];
    change_source(phase);
    bool is_little = phase >= DAY_REST_FROM && phase < DAY_WORK_FROM;
    if (phase % 15 == 7 && !is_little)
        replace(rank);
    if (phase % 4 == 1 && !is_little)
        jump(&rank->slot[phase / 4 % DAY_SLOTS]);
    if (phase % 3 == 2 && !is_little) {
        struct day_slot *slot = &rank->slot[phase / 3 % DAY_SLOTS];
        unmap(rank, slot);
        map(rank, slot, DAY_SLOT_PAGES / 2 + day_random(DAY_SLOT_PAGES / 1024) * 512, false);
    }
    if (phase % 40 == 20 || phase % 40 == 22)
        burst(phase % 40 == 20);
    if (phase % 10 == 3 && rank->n_threads < DAY_THREADS)
        add_thread(rank);
    if (phase % 10 == 9 && rank->n_threads > 0)
        drop_thread(rank);
}

void day_job_start(char *rank_program)
{
    program = rank_program;
    for (int i = 0; i < STEADY; i++) {
        start_rank(&day_rank[i]);
        fill(&day_rank[i], false);
        add_thread(&day_rank[i]);
    }
}

void day_job_end(void)
{
    for (int i = 0; i < DAY_RANKS; i++)
        if (day_rank[i].pid)
            end_rank(&day_rank[i]);
}

uint64_t day_address(const struct day_rank *rank, bool *is_write)
{
    const struct day_slot *slot = &rank->slot[day_random(DAY_SLOTS)];
    if (slot->n_pages == 0)
        return 0;
    bool is_hot = day_random(10) < HOT_IN_TEN;
    uint64_t page = is_hot ? slot->hot + day_random(slot->n_pages / DAY_HOT_SHARE) : day_random(slot->n_pages);
    *is_write = is_hot && (slot - rank->slot) % 2;
    if (!day_pages_has(slot, page))
        return 0;
    return address_of(rank, slot) + page * PAGE;
}
