/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches threads, each by events of its own (cpu -1), and looks for new ones at each update. Events are not inherited:
 * an inherited event must be bound to a CPU, so that n threads on m CPUs would need each event n x m times.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fit.h"
#include "base/perfopen.h"
#include "perfwatchparts.h"

#define WALKS 3 /* in a row that could not watch all threads, after which that is told */

struct walk {
    struct hm_perf_watched *watch;
    size_t n_added;
    int number; /* errno of the last refusal; 0: there was none */
};

/* Would any other thread be refused, too? The user may lock no more memory, or this process has no more descriptors or
 * slots. */
static bool is_limit(int number)
{
    return number == ENOMEM || number == EMFILE || number == ENFILE || number == ENOSPC;
}

/* Watches a thread. Returns false where it is refused: each try costs many times what a thread that is known does. */
static bool add_thread(void *data, pid_t pid, int thread)
{
    struct walk *walk = data;
    const struct hm_perf_target target = {.pid = pid, .number = thread, .open_pid = thread, .cpu = -1, .lent = -1};
    bool is_added = hm_perf_add(walk->watch, &target) == 0;
    bool is_refused = !is_added && errno != ESRCH; /* a thread that has ended is no refusal */
    walk->n_added += is_added;
    walk->number = is_refused ? errno : walk->number;
    return !is_refused;
}

/* The number of threads of a process; 0: it is not there. */
static uint64_t count(const struct hm_ranks *ranks, uint32_t space)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)ranks->rank[space].pid);
    bool is_there = hm_ranks_is_there(ranks, space) && stat(path, &status) == 0 && status.st_nlink > 2;
    return is_there ? status.st_nlink - 2 : 0; /* its folders, without its own two links */
}

uint64_t hm_perf_count_threads(const struct hm_ranks *ranks)
{
    uint64_t n = 0;
    for (uint32_t space = 0; space < ranks->n; space++)
        n += count(ranks, space);
    return n;
}

/* Returns by space how many threads of each process are watched. The next call overwrites it. */
static const uint32_t *count_watched(const struct hm_perf_watched *watch, const struct hm_ranks *ranks)
{
    static uint32_t n_watched[HM_RANKS];
    memset(n_watched, 0, ranks->n * sizeof(n_watched[0]));
    for (size_t i = 0; i < watch->n; i++) {
        int space = hm_ranks_space(ranks, watch->slot[i]->pid);
        if (space >= 0)
            n_watched[space]++;
    }
    return n_watched;
}

void hm_perf_mark_unseen(const struct hm_perf_watched *watch, const struct hm_ranks *ranks)
{
    const uint32_t *n_watched = count_watched(watch, ranks);
    for (uint32_t space = 0; space < ranks->n; space++)
        ranks->rank[space].has_unseen = n_watched[space] < count(ranks, space);
}

void hm_perf_mark_new(const struct hm_perf_watched *watch, const struct hm_ranks *ranks)
{
    bool any = false;
    for (uint32_t space = 0; space < ranks->n; space++)
        any = any || ranks->rank[space].is_new;
    if (any)
        hm_perf_mark_unseen(watch, ranks);
}

void hm_perf_note_short(struct hm_perf_watched *watch, const struct hm_ranks *ranks, const char *why)
{
    struct hm_source_state *state = &watch->source.state;
    watch->n_short = why ? watch->n_short + 1 : 0;
    if (watch->n_short == WALKS && !state->partly[0])
        hm_fit(state->partly, sizeof(state->partly), "%zu of %llu threads are watched: %s", watch->n,
               (unsigned long long)hm_perf_count_threads(ranks), why);
}

static char *explain(const struct hm_perf_watched *watch, int number, char *out, size_t size)
{
    char paranoid[16];
    if (number != ENOSPC)
        return hm_perf_explain(number, hm_perf_read_paranoid(paranoid, sizeof(paranoid)), 2, out, size);
    if (watch->locked_bytes >= HM_PERF_LOCKED)
        snprintf(out, size, "the migrator locks no more than %u MiB for samples", (unsigned)(HM_PERF_LOCKED >> 20));
    else
        snprintf(out, size, "the migrator watches no more than %d", HM_PERF_SLOTS);
    return out;
}

int hm_perf_update_threads(struct hm_perf_watched *watch, const struct hm_ranks *ranks, struct hm_error *error)
{
    hm_perf_drop_gone(watch, ranks);
    if (!hm_retry_is_due(&watch->retry)) {
        hm_perf_mark_new(watch, ranks);
        return 0;
    }
    int *known = hm_perf_list_targets(watch);
    if (!known)
        return hm_fail(error, ENOMEM, "out of memory");
    struct walk walk = {.watch = watch};
    size_t n_known = watch->n;
    const uint32_t *n_watched = count_watched(watch, ranks);
    /* Of a process with as many threads as are watched, none is looked for: where one has come in place of another, the
     * slot of that goes when its samples are read. */
    for (uint32_t space = 0; space < ranks->n && !is_limit(walk.number); space++)
        if (hm_ranks_is_there(ranks, space) && count(ranks, space) != n_watched[space])
            hm_perf_visit_new(ranks->rank[space].pid, known, n_known, add_thread, &walk);
    free(known);
    if (walk.number == 0) {
        for (uint32_t space = 0; space < ranks->n; space++)
            ranks->rank[space].has_unseen = false;
        watch->retry = (struct hm_retry){0};
        hm_perf_note_short(watch, ranks, NULL);
        return 0;
    }
    hm_perf_mark_unseen(watch, ranks);
    hm_retry_pause(&watch->retry, walk.n_added > 0);
    char why[HM_WARNING];
    explain(watch, walk.number, why, sizeof(why));
    if (watch->n == 0)
        return hm_fail(error, walk.number, "none of %llu threads can be watched: %s",
                       (unsigned long long)hm_perf_count_threads(ranks), why);
    hm_perf_note_short(watch, ranks, why);
    return 0;
}
