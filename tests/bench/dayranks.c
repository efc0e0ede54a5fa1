/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of the simulated job (daysim.h), whose program is dayrank.c. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dayorder.h"
#include "daysim.h"
#include "migrator/replay/sampler.h"

#define PAGE UINT64_C(4096)

struct day_rank day_rank[DAY_RANKS];
static struct day_counts counts;
static struct hm_random random_state;
static char *program;
extern char **environ;

void day_ranks_begin(char *rank_program)
{
    program = rank_program;
    personality(ADDR_NO_RANDOMIZE); /* of the ranks: where their own mappings are decides what is watched together */
}

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

static int give(const struct day_rank *rank, struct order order)
{
    int result = -1;
    if (write(rank->socket, &order, sizeof(order)) != sizeof(order) ||
        read(rank->socket, &result, sizeof(result)) != sizeof(result) || result < 0)
        day_die("a process of the job does not do what it should");
    return result;
}

uint64_t day_slot_address(const struct day_rank *rank, const struct day_slot *slot)
{
    return (DAY_FIRST_PAGE + (uint64_t)(slot - rank->slot) * DAY_SLOT_SPAN) * PAGE;
}

void day_slot_jump(struct day_slot *slot)
{
    slot->hot = day_random(slot->n_pages - slot->n_pages / DAY_HOT_SHARE);
    counts.jumps++;
}

void day_rank_map(struct day_rank *rank, struct day_slot *slot, uint64_t n_pages, bool only_fast)
{
    static const enum day_kind kinds[DAY_SLOTS] = {DAY_PLAIN, DAY_HUGE, DAY_PLAIN, DAY_SHARED, DAY_PLAIN, DAY_PIECES};
    enum day_kind kind = kinds[slot - rank->slot];
    uint64_t piece = kind == DAY_PIECES ? DAY_FRAGMENT * PAGE : n_pages * PAGE;
    give(rank, (struct order){ORDER_MAP, day_slot_address(rank, slot), n_pages * PAGE, piece,
                              kind == DAY_PIECES ? 2 * piece : piece});
    day_pages_map(slot, n_pages, kind, only_fast);
    day_slot_jump(slot);
    counts.mapped++;
}

void day_rank_unmap(struct day_rank *rank, struct day_slot *slot)
{
    if (slot->n_pages == 0)
        return;
    give(rank,
         (struct order){.kind = ORDER_UNMAP, .address = day_slot_address(rank, slot), .bytes = slot->n_pages * PAGE});
    day_pages_unmap(slot);
    counts.unmapped++;
}

void day_rank_add_thread(struct day_rank *rank)
{
    rank->thread[rank->n_threads] = give(rank, (struct order){.kind = ORDER_THREAD});
    rank->n_threads++;
    counts.threads++;
}

void day_rank_drop_thread(struct day_rank *rank)
{
    pid_t thread = give(rank, (struct order){.kind = ORDER_JOIN});
    rank->n_threads--;
    day_perf_end_thread(thread);
}

const struct day_rank *day_rank_find(pid_t pid)
{
    for (int i = 0; i < DAY_RANKS; i++)
        if (day_rank[i].pid == pid)
            return &day_rank[i];
    return NULL;
}

void day_rank_start(struct day_rank *rank)
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

void day_rank_end(struct day_rank *rank)
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
