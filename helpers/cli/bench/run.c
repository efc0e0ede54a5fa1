/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a kernel on arrays of libhybridmem, with threads that each have a part of the arrays. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "bench.h"
#include "kernels.h"

#define MB 1e6

static const struct {
    const char *name;
    bool has[HM_BENCH_ROLES];
    void (*run)(const char *from, char *to, size_t bytes);
} kernels[] = {
    [HM_BENCH_ACCUMULATE] = {"accumulate", {true, false}, hm_benchkernel_accumulate},
    [HM_BENCH_COPY] = {"copy", {true, true}, hm_benchkernel_copy},
    [HM_BENCH_NT_WRITE] = {"nt-write", {false, true}, hm_benchkernel_nt_write},
};

const char *hm_bench_kernel_name(enum hm_bench_kernel kernel)
{
    return kernel < HM_BENCH_KERNELS ? kernels[kernel].name : NULL;
}

bool hm_bench_has_array(enum hm_bench_kernel kernel, enum hm_bench_role role)
{
    return kernels[kernel].has[role];
}

struct crew {
    enum hm_bench_kernel kernel;
    char *array[HM_BENCH_ROLES];
    size_t bytes; /* of one array */
    int n;        /* threads */
    int repetitions;
    pthread_mutex_t gate;      /* held until all threads are created, so that none starts before */
    bool is_cancelled;         /* a thread could not be created: the others end */
    pthread_barrier_t barrier; /* of the threads and of the thread that waits for them */
};

struct worker {
    struct crew *crew;
    pthread_t thread;
    int index;
    /* of the last repetition, by CLOCK_MONOTONIC, which each worker reads itself: the main thread may wake late */
    double start_s, end_s;
};

static size_t part_start(const struct crew *crew, int index)
{
    return crew->bytes / HM_BENCH_LINE * (size_t)index / (size_t)crew->n * HM_BENCH_LINE;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    size_t start = part_start(crew, worker->index), bytes = part_start(crew, worker->index + 1) - start;
    const char *from = crew->array[HM_BENCH_READ] ? crew->array[HM_BENCH_READ] + start : NULL;
    char *to = crew->array[HM_BENCH_WRITTEN] ? crew->array[HM_BENCH_WRITTEN] + start : NULL;
    pthread_mutex_lock(&crew->gate);
    bool is_cancelled = crew->is_cancelled;
    pthread_mutex_unlock(&crew->gate);
    if (is_cancelled)
        return NULL;
    for (int role = 0; role < HM_BENCH_ROLES; role++)
        if (crew->array[role])
            memset(crew->array[role] + start, 1 + role, bytes);
    pthread_barrier_wait(&crew->barrier);
    for (int i = 0; i < crew->repetitions; i++) {
        pthread_barrier_wait(&crew->barrier);
        worker->start_s = hm_clock_s(CLOCK_MONOTONIC);
        kernels[crew->kernel].run(from, to, bytes);
        worker->end_s = hm_clock_s(CLOCK_MONOTONIC);
        pthread_barrier_wait(&crew->barrier);
    }
    return NULL;
}

/*
 * Binds thread `index` of `n` to a CPU, spread over the process's CPUs. If that is impossible, the scheduler chooses
 * the CPU.
 */
static void choose_cpu(pthread_attr_t *attributes, int index, int n)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        return;
    int count = CPU_COUNT(&all), wanted = n >= count ? index % count : (int)((long)index * count / n);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && wanted-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_attr_setaffinity_np(attributes, sizeof(one), &one);
            return;
        }
    }
}

static int start_thread(struct worker *worker)
{
    pthread_attr_t attributes;
    int number = pthread_attr_init(&attributes);
    if (number)
        return number;
    choose_cpu(&attributes, worker->index, worker->crew->n);
    number = pthread_create(&worker->thread, &attributes, work, worker);
    pthread_attr_destroy(&attributes);
    return number;
}

/* Starts all threads, or none. */
static int start_threads(struct crew *crew, struct worker *worker, struct hm_error *error)
{
    int number = 0, n = 0;
    pthread_mutex_lock(&crew->gate);
    for (; n < crew->n && number == 0; n++) {
        worker[n].crew = crew;
        worker[n].index = n;
        number = start_thread(&worker[n]);
    }
    crew->is_cancelled = number != 0;
    pthread_mutex_unlock(&crew->gate);
    if (number == 0)
        return 0;
    for (int i = 0; i < n - 1; i++)
        pthread_join(worker[i].thread, NULL);
    return hm_fail(error, number, "thread %d of %d cannot be started: %s", n, crew->n, strerror(number));
}

/* Counts how much of the array is in which tier. */
static void count(const struct hm_bench *bench, const char *array, struct hm_bench_place *place,
                  struct hm_alloc_where *where)
{
    memset(place, 0, sizeof(*place));
    if (hm_where(array, where) < 0)
        return;
    for (int i = 0; i < where->n_nodes; i++) {
        const struct hm_alloc_node *node = &where->node[i];
        int tier = node->node < 0 ? -1 : hm_tiers_of_node(&bench->tiers, node->node);
        if (node->node < 0)
            place->file_bytes += node->wanted_bytes;
        else if (tier == 0)
            place->fast_bytes += node->resident_bytes;
        else if (tier == bench->tiers.n_tiers - 1)
            place->slow_bytes += node->resident_bytes;
        else
            place->other_bytes += node->resident_bytes;
    }
}

/* Seconds from the first thread's start to the last thread's end. */
static double time_of(const struct crew *crew, const struct worker *worker)
{
    double start = worker[0].start_s, end = worker[0].end_s;
    for (int i = 1; i < crew->n; i++) {
        start = worker[i].start_s < start ? worker[i].start_s : start;
        end = worker[i].end_s > end ? worker[i].end_s : end;
    }
    return end > start ? end - start : 1e-9; /* at least one step of the clock */
}

/* Runs and times the repetitions, after the arrays are made and the threads have started. */
static void take_times(struct crew *crew, const struct worker *worker, const struct hm_bench *bench,
                       struct hm_bench_result *result, struct hm_alloc_where *where, hm_bench_watch *watch,
                       void *argument)
{
    double sum = 0, least = 0;
    watch(argument, result, -1);
    pthread_barrier_wait(&crew->barrier);
    for (int role = 0; role < HM_BENCH_ROLES; role++)
        if (crew->array[role])
            count(bench, crew->array[role], &result->place[role], where);
    for (result->n_seconds = 0; result->n_seconds < crew->repetitions; result->n_seconds++) {
        watch(argument, result, result->n_seconds);
        pthread_barrier_wait(&crew->barrier);
        pthread_barrier_wait(&crew->barrier);
        double took = time_of(crew, worker);
        result->seconds[result->n_seconds] = took;
        sum += took;
        least = result->n_seconds == 0 || took < least ? took : least;
    }
    result->best_mbs = (double)result->moved_bytes / MB / least;
    result->mean_mbs = (double)result->moved_bytes / MB * result->n_seconds / sum;
}

static int allocate(const struct hm_bench *bench, struct crew *crew, struct hm_bench_result *result,
                    struct hm_error *error)
{
    static const enum hm_alloc_use use[] = {HM_ALLOC_READ_MOSTLY, HM_ALLOC_WRITE_INTENSIVE};
    for (int role = 0; role < HM_BENCH_ROLES; role++) {
        struct hm_alloc_hint hint = {.use = use[role], .block_bytes = bench->words.block_bytes};
        if (!kernels[result->kernel].has[role])
            continue;
        crew->array[role] = hm_alloc(crew->bytes, bench->words.policy[role], &hint);
        if (!crew->array[role])
            return hm_fail_errno(error, "%zu bytes of memory cannot be allocated", crew->bytes);
        snprintf(result->reason[role], sizeof(result->reason[role]), "%s", hm_alloc_reason());
        result->moved_bytes += crew->bytes;
    }
    return 0;
}

int hm_bench_measure(const struct hm_bench *bench, struct hm_bench_result *result, hm_bench_watch *watch,
                     void *argument, struct hm_error *error)
{
    int n_arrays = kernels[result->kernel].has[0] + kernels[result->kernel].has[1], status = -1;
    struct crew crew = {.kernel = result->kernel,
                        .n = bench->threads,
                        .repetitions = bench->words.repetitions,
                        .gate = PTHREAD_MUTEX_INITIALIZER};
    struct worker *worker = calloc((size_t)crew.n, sizeof(*worker));
    struct hm_alloc_where *where = calloc(1, sizeof(*where));
    crew.bytes = result->bytes / (size_t)n_arrays / HM_BENCH_LINE * HM_BENCH_LINE;
    result->moved_bytes = 0;
    if (!worker || !where) {
        hm_fail_errno(error, "memory for the threads");
        goto done;
    }
    if (allocate(bench, &crew, result, error) < 0)
        goto done;
    pthread_barrier_init(&crew.barrier, NULL, (unsigned)crew.n + 1);
    if (start_threads(&crew, worker, error) < 0)
        goto done;
    take_times(&crew, worker, bench, result, where, watch, argument);
    for (int i = 0; i < crew.n; i++)
        pthread_join(worker[i].thread, NULL);
    status = 0;
done:
    for (int role = 0; role < HM_BENCH_ROLES; role++)
        hm_free(crew.array[role]);
    free(where);
    free(worker);
    return status;
}
