/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A rank whose accesses follow Zipf's law: of its blocks, the k-th in the order of heat gets a share of the accesses
 * that is proportional to k to the power of -S. The blocks' heat is in random order, another one in each rank. An
 * access goes to a random cache line of a block; one in four is a write.
 *
 *     srun -n4 zipf --mib MIB --block KIB --exponent S CONTROL-FILE
 *
 * MIB is the size of the rank's memory, in MiB, KIB that of a block, in KiB. The test controls the ranks through
 * CONTROL-FILE (control.h). Before a rank tells its pid there, it writes the file CONTROL-FILE.RANK: the share of each
 * block in the rank's accesses, in the order of the blocks' addresses, as an array of double.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "control.h"

#define SKIPPED 100 /* random numbers: the first ones after seeds that resemble each other do so, too */

struct options {
    unsigned long mib, block_kib;
    double exponent;
    const char *control;
};

/*
 * Tables of the alias method: a block is drawn as a block of equal chance, which then, with a chance of its own, is
 * given up for its alias. So a draw costs the same for any number of blocks.
 */
struct draw {
    size_t n;
    uint32_t *keep; /* the chance that a block is kept, in 2^-32 */
    uint32_t *alias;
};

static int parse(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        {"mib", required_argument, NULL, 'm'},
        {"block", required_argument, NULL, 'b'},
        {"exponent", required_argument, NULL, 'e'},
        {NULL, 0, NULL, 0},
    };

    for (int found; (found = getopt_long(argc, argv, "", names, NULL)) != -1;) {
        if (found == 'm')
            options->mib = strtoul(optarg, NULL, 10);
        else if (found == 'b')
            options->block_kib = strtoul(optarg, NULL, 10);
        else if (found == 'e')
            options->exponent = strtod(optarg, NULL);
        else
            return -1;
    }
    options->control = argv[optind];
    return options->block_kib && options->mib << 10 >= options->block_kib && options->control ? 0 : -1;
}

/* Fills in the share of each block in the accesses. Together they are 1. */
static void weigh(double *weight, size_t n, double exponent, uint64_t *state)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++) {
        weight[i] = pow((double)i + 1, -exponent);
        sum += weight[i];
    }
    for (size_t i = n; i-- > 0;) {
        size_t other = below(random_next(state) >> 32, i + 1);
        double shuffled = weight[other] / sum;

        weight[other] = weight[i];
        weight[i] = shuffled;
    }
}

/* Makes the tables for a draw. Returns 0, or -1 without memory. */
static int draw_make(struct draw *draw, const double *weight, size_t n)
{
    double *chance = malloc(n * sizeof(*chance)); /* of the block, where 1 is the mean */
    uint32_t *open = malloc(n * sizeof(*open));   /* blocks without an alias: the rare first, the frequent last */
    size_t n_rare = 0, first_frequent = n;

    *draw = (struct draw){n, malloc(n * sizeof(*draw->keep)), malloc(n * sizeof(*draw->alias))};
    if (!chance || !open || !draw->keep || !draw->alias)
        return -1;
    for (size_t i = 0; i < n; i++) {
        chance[i] = weight[i] * (double)n;
        open[chance[i] < 1 ? n_rare++ : --first_frequent] = (uint32_t)i;
        draw->keep[i] = UINT32_MAX;
        draw->alias[i] = (uint32_t)i;
    }
    /* A frequent block is the alias of a rare one, and has so much less to get by itself. */
    while (n_rare > 0 && first_frequent < n) {
        uint32_t rare = open[--n_rare], frequent = open[first_frequent++];

        draw->keep[rare] = (uint32_t)(chance[rare] * UINT32_MAX);
        draw->alias[rare] = frequent;
        chance[frequent] -= 1 - chance[rare];
        open[chance[frequent] < 1 ? n_rare++ : --first_frequent] = frequent;
    }
    free(chance);
    free(open);
    return 0;
}

static inline size_t draw_block(const struct draw *draw, uint64_t bits)
{
    size_t block = below(bits >> 32, draw->n);

    return (uint32_t)bits <= draw->keep[block] ? block : draw->alias[block];
}

static int write_weights(const char *control, unsigned long rank, const double *weight, size_t n)
{
    char path[4096];
    FILE *file = NULL;

    if (snprintf(path, sizeof(path), "%s.%lu", control, rank) < (int)sizeof(path))
        file = fopen(path, "w");
    return !file || fwrite(weight, sizeof(*weight), n, file) < n || fclose(file) ? -1 : 0;
}

/* Chooses the blocks' heat, writes it down, and makes the tables for a draw. */
static int prepare(const struct options *options, unsigned long rank, uint64_t *state, struct draw *draw)
{
    size_t n = (options->mib << 10) / options->block_kib;
    double *weight = malloc(n * sizeof(*weight));
    int result;

    if (!weight)
        return -1;
    weigh(weight, n, options->exponent, state);
    result = draw_make(draw, weight, n) || write_weights(options->control, rank, weight, n) ? -1 : 0;
    free(weight);
    return result;
}

static void batch(const struct draw *draw, volatile char *memory, size_t block_lines, uint64_t *state)
{
    for (int i = 0; i < BATCH; i++) {
        size_t block = draw_block(draw, random_next(state));
        uint64_t bits = random_next(state);
        size_t line = block * block_lines + below(bits >> 32, block_lines);

        if (bits & 3)
            (void)memory[line * LINE];
        else
            memory[line * LINE] = (char)bits;
    }
}

int main(int argc, char **argv)
{
    struct options options = {0};
    struct draw draw;
    unsigned long rank = of_slurm("SLURM_PROCID", 0), ranks = of_slurm("SLURM_STEP_NUM_TASKS", 1);
    uint64_t state = random_seed(rank);
    struct control *control;
    char *memory;

    if (parse(argc, argv, &options) || rank >= MAX_RANKS || ranks > MAX_RANKS) {
        fprintf(stderr, "usage: zipf --mib MIB --block KIB --exponent S CONTROL-FILE\n");
        return 2;
    }
    for (int i = 0; i < SKIPPED; i++)
        random_next(&state);
    control = map_control(options.control);
    if (!control || prepare(&options, rank, &state, &draw)) {
        perror("zipf: control file, weights");
        return 1;
    }
    control->rank[rank].pid = (uint64_t)getpid();
    wait_for_order(control, ORDER_ALLOCATE);
    memory = map_small_pages(options.mib << 20);
    if (!memory) {
        perror("zipf: memory");
        return 1;
    }
    for (size_t at = 0; at < options.mib << 20; at += PAGE)
        memory[at] = 1;
    control->rank[rank].memory = (uint64_t)memory;
    wait_for_order(control, ORDER_RUN);
    for (uint64_t done = 0; control->order == ORDER_RUN; wait_for_others(control, ranks, done)) {
        batch(&draw, memory, (options.block_kib << 10) / LINE, &state);
        control->rank[rank].accesses = done += BATCH;
    }
    return 0;
}
