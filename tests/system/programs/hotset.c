/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank whose hot data is known. It allocates MIB MiB and touches the cold part first, so that a fast tier which is
 * smaller than the ranks' memory ends up with cold data. Then it reads and writes random cache lines: 95 % of them in
 * the hot tenth, the rest anywhere. Caches and prefetchers help little with such accesses.
 *
 *     srun -n4 hotset --mib MIB [--work N] [--jump N] [--uniform] [--split] CONTROL-FILE
 *
 * --work N: N rounds of arithmetic in registers between two accesses, as in programs that compute. Without them a rank
 * of tens of MiB would touch each of its pages, hot or cold, all the time, which no rank of real size does.
 *
 * --jump N: the hot tenth moves after each N accesses of this rank, as soon as the test allows it: the rank makes no
 * more jumps than .jumps_allowed, and goes on working meanwhile.
 *
 * --uniform: no hot data. --split: two hot tenths of equal heat, the first for reads, the second for writes.
 *
 * The test controls the ranks through CONTROL-FILE (control.h). At the end each rank prints one line of JSON: where its
 * parts begin and, by node, their pages.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <numaif.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "control.h"

#define PARTS 10     /* a part is a tenth */
#define FIRST_HOT 5  /* the tenth that is touched last, and is hot first */
#define FIRST_READ 3 /* --split: the tenths that are touched last */
#define FIRST_WRITTEN 7
#define MAX_NODES 16

struct options {
    unsigned long mib, work;
    uint64_t jump;
    bool uniform, split;
    const char *control;
};

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"mib", required_argument, NULL, 'm'},  {"work", required_argument, NULL, 'w'},
        {"jump", required_argument, NULL, 'j'}, {"uniform", no_argument, NULL, 'u'},
        {"split", no_argument, NULL, 's'},      {NULL, 0, NULL, 0},
    };

    for (int found; (found = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (found == 'm')
            options->mib = strtoul(optarg, NULL, 10);
        else if (found == 'w')
            options->work = strtoul(optarg, NULL, 10);
        else if (found == 'j')
            options->jump = strtoull(optarg, NULL, 10);
        else if (found == 'u')
            options->uniform = true;
        else if (found == 's')
            options->split = true;
        else
            return -1;
    }
    options->control = argv[optind];
    return options->mib && options->control ? 0 : -1;
}

/* Is this part hot at the start? Then it is touched last. */
static bool is_last(const struct options *options, int part)
{
    return options->split ? part == FIRST_READ || part == FIRST_WRITTEN : part == FIRST_HOT;
}

/* Touches the parts that are hot at the start, or the others. */
static void touch(const struct options *options, volatile char *memory, size_t part_bytes, bool hot)
{
    for (int part = 0; part < PARTS; part++) {
        if (is_last(options, part) != hot)
            continue;
        for (size_t at = 0; at < part_bytes; at += PAGE)
            memory[(size_t)part * part_bytes + at] = 1;
    }
}

/*
 * Allocates memory without huge pages. Touches its hot parts only after all ranks have touched their cold parts:
 * otherwise the hot parts of a rank that is quicker than the others would find room in the fast tier.
 */
static volatile char *allocate(const struct options *options, struct control *control, unsigned long rank,
                               unsigned long ranks, size_t bytes)
{
    volatile char *memory = map_small_pages(bytes);
    const struct timespec tick = {.tv_nsec = 20000000};

    if (!memory)
        return NULL;
    touch(options, memory, bytes / PARTS, false);
    control->rank[rank].has_cold = 1;
    for (unsigned long i = 0; i < ranks; i++) {
        while (!control->rank[i].has_cold)
            nanosleep(&tick, NULL);
    }
    touch(options, memory, bytes / PARTS, true);
    return memory;
}

struct work {
    volatile char *memory;
    size_t lines, part_lines;
    int hot; /* number of the hot tenth */
    uint64_t state;
    unsigned long rounds; /* rounds of arithmetic between two accesses */
};

static inline uint64_t compute(struct work *work)
{
    for (unsigned long i = 0; i < work->rounds; i++)
        random_next(&work->state);
    return random_next(&work->state);
}

/* Three quarters of the accesses are loads. */
static void batch_hot(struct work *work, bool uniform)
{
    size_t first = (size_t)work->hot * work->part_lines;

    for (int i = 0; i < BATCH; i++) {
        uint64_t bits = compute(work);
        bool anywhere = uniform || (bits >> 32) % 20 == 0;
        size_t line = anywhere ? below(bits, work->lines) : first + below(bits, work->part_lines);

        if (bits >> 62)
            (void)work->memory[line * LINE];
        else
            work->memory[line * LINE] = (char)bits;
    }
}

/* Accesses the part that is read and the part that is written equally often. */
static void batch_split(struct work *work)
{
    for (int i = 0; i < BATCH; i++) {
        uint64_t bits = compute(work);
        bool store = bits >> 63;
        size_t line;

        if ((bits >> 32) % 20 == 0)
            line = below(bits, work->lines);
        else
            line = (store ? FIRST_WRITTEN : FIRST_READ) * work->part_lines + below(bits, work->part_lines);
        if (store)
            work->memory[line * LINE] = (char)bits;
        else
            (void)work->memory[line * LINE];
    }
}

/* Prints a part's pages by node. */
static int print_part(const struct work *work, int part)
{
    size_t count = work->part_lines * LINE / PAGE;
    unsigned long nodes[MAX_NODES] = {0};
    void **pages = calloc(count, sizeof(*pages));
    int *status = calloc(count, sizeof(*status)), result = -1;

    if (!pages || !status)
        goto done;
    for (size_t i = 0; i < count; i++)
        pages[i] = (void *)(work->memory + ((size_t)part * count + i) * PAGE);
    if (move_pages(0, count, pages, NULL, status, 0))
        goto done;
    for (size_t i = 0; i < count; i++) {
        if (status[i] >= 0 && status[i] < MAX_NODES)
            nodes[status[i]]++;
    }
    printf("%s{\"first\": %lu, \"pages\": {", part ? ", " : "", (unsigned long)pages[0]);
    for (int node = 0, more = 0; node < MAX_NODES; node++) {
        if (nodes[node])
            printf("%s\"%d\": %lu", more++ ? ", " : "", node, nodes[node]);
    }
    printf("}}");
    result = 0;
done:
    free(pages);
    free(status);
    return result;
}

/* Accesses the memory in batches until the test ends that. */
static void run(const struct options *options, struct control *control, unsigned long rank, unsigned long ranks,
                struct work *work)
{
    for (uint64_t done = 0, jumps = 0; control->order == ORDER_RUN;) {
        if (options->split)
            batch_split(work);
        else
            batch_hot(work, options->uniform);
        done += BATCH;
        if (options->jump && done >= (jumps + 1) * options->jump && control->jumps_allowed > jumps) {
            work->hot = (work->hot + 3) % PARTS;
            control->rank[rank].jumped_at = done;
            control->rank[rank].jumps = ++jumps;
        }
        control->rank[rank].accesses = done;
        wait_for_others(control, ranks, done);
    }
}

static int print_parts(const struct work *work, unsigned long rank)
{
    printf("{\"rank\": %lu, \"hot\": %d, \"parts\": [", rank, work->hot);
    for (int part = 0; part < PARTS; part++) {
        if (print_part(work, part)) {
            perror("hotset: pages");
            return -1;
        }
    }
    printf("]}\n");
    return 0;
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct work work = {.hot = FIRST_HOT};
    unsigned long rank = of_slurm("SLURM_PROCID", 0), ranks = of_slurm("SLURM_STEP_NUM_TASKS", 1);
    struct control *control;

    if (parse(argc, argv, &options) || rank >= MAX_RANKS || ranks > MAX_RANKS) {
        fprintf(stderr, "usage: hotset --mib MIB [--work N] [--jump N] [--uniform] [--split] CONTROL-FILE\n");
        return 2;
    }
    work.rounds = options.work;
    work.part_lines = (options.mib << 20) / PARTS / PAGE * (PAGE / LINE);
    work.lines = work.part_lines * PARTS;
    work.state = random_seed(rank);
    control = map_control(options.control);
    if (!control) {
        perror("hotset: control file");
        return 1;
    }
    control->rank[rank].pid = (uint64_t)getpid();
    wait_for_order(control, ORDER_ALLOCATE);
    if (!(work.memory = allocate(&options, control, rank, ranks, work.lines * LINE))) {
        perror("hotset: memory");
        return 1;
    }
    control->rank[rank].memory = (uint64_t)work.memory;
    wait_for_order(control, ORDER_RUN);
    run(&options, control, rank, ranks, &work);
    return print_parts(&work, rank) ? 1 : 0;
}
