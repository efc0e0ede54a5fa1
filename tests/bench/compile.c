/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A solver by levels of grids, which allocates as such programs do: its vectors come and go by one function for all,
 * tens of thousands in a second (M. B. Olson and others, "MemBrain", NAS 2018, table II). It is compiled twice, by
 * clang and by hybridmem-cc, as two functions of one program. Each round compares the CPU time of the latter with that
 * of the former before and behind it. Prints the median ratio, and the allocations of a second.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define ROUNDS 101
#define CYCLES 2
#define LEVELS 6
#define SIDE 128
#define SWEEPS 20

double run_plain(void);
double run_given(void);
extern unsigned long allocations_plain, allocations_given;

#ifdef RUN

#define JOINED(a, b) a##b
#define NAME(a, b) JOINED(a, b)
#define ALLOCATIONS NAME(allocations_, RUN)

unsigned long ALLOCATIONS;

struct vector {
    unsigned side;
    double *at;
};

__attribute__((noinline)) static void *xcalloc(size_t count, size_t bytes)
{
    void *memory = calloc(count, bytes);
    if (!memory)
        abort();
    ALLOCATIONS++;
    return memory;
}

__attribute__((noinline)) static struct vector *vector_make(unsigned side)
{
    struct vector *vector = xcalloc(1, sizeof(*vector));
    vector->side = side;
    vector->at = xcalloc((size_t)(side + 2) * (side + 2), sizeof(double));
    return vector;
}

__attribute__((noinline)) static void vector_free(struct vector *vector)
{
    free(vector->at);
    free(vector);
}

__attribute__((noinline)) static void relax(struct vector *x, const struct vector *b)
{
    unsigned wide = x->side + 2;
    double *kept = xcalloc(wide, sizeof(*kept));
    for (unsigned step = 0; step < SWEEPS * x->side; step++) {
        unsigned row = step % x->side + 1;
        double *at = x->at + (size_t)row * wide;
        for (unsigned i = 1; i <= x->side; i++)
            kept[i] =
                0.25 * (b->at[(size_t)row * wide + i] + at[i - 1] + at[i + 1] + at[i - (long)wide] + at[i + wide]);
        for (unsigned i = 1; i <= x->side; i++)
            at[i] = kept[i];
    }
    free(kept);
}

__attribute__((noinline)) static struct vector *coarser(const struct vector *b)
{
    struct vector *small = vector_make(b->side / 2);
    for (unsigned row = 1; row <= small->side; row++)
        for (unsigned i = 1; i <= small->side; i++)
            small->at[(size_t)row * (small->side + 2) + i] = b->at[(size_t)(2 * row) * (b->side + 2) + 2 * i];
    return small;
}

__attribute__((noinline)) static void cycle(struct vector *x, const struct vector *b, unsigned level)
{
    relax(x, b);
    if (level > 1) {
        struct vector *small_b = coarser(b), *small_x = vector_make(small_b->side);
        cycle(small_x, small_b, level - 1);
        for (unsigned row = 1; row <= small_x->side; row++)
            for (unsigned i = 1; i <= small_x->side; i++)
                x->at[(size_t)(2 * row) * (x->side + 2) + 2 * i] += small_x->at[(size_t)row * (small_x->side + 2) + i];
        vector_free(small_x);
        vector_free(small_b);
    }
    relax(x, b);
}

double NAME(run_, RUN)(void)
{
    struct vector *x = vector_make(SIDE), *b = vector_make(SIDE);
    for (unsigned i = 0; i < (SIDE + 2) * (SIDE + 2); i++)
        b->at[i] = i % 7;
    for (unsigned i = 0; i < CYCLES; i++)
        cycle(x, b, LEVELS);
    double found = x->at[SIDE * (SIDE + 2) / 2];
    vector_free(x);
    vector_free(b);
    return found;
}

#else

static double seconds_of(double (*run)(void), double *found)
{
    uint64_t began = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    *found = run();
    return (double)(hm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) / 1e9;
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

int main(void)
{
    static double ratio[ROUNDS], given[ROUNDS];
    double found[2];
    for (int round = 0; round < ROUNDS; round++) {
        double before = seconds_of(run_plain, &found[0]);
        given[round] = seconds_of(run_given, &found[1]);
        ratio[round] = 2 * given[round] / (before + seconds_of(run_plain, &found[0]));
    }
    qsort(ratio, ROUNDS, sizeof(ratio[0]), compare);
    qsort(given, ROUNDS, sizeof(given[0]), compare);
    printf("%.3f %.0f\n", ratio[ROUNDS / 2], (double)allocations_given / ROUNDS / given[ROUNDS / 2]);
    return found[0] == found[1] && allocations_plain == 2 * allocations_given ? 0 : 1;
}

#endif
