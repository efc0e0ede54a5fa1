/* SPDX-License-Identifier: Apache-2.0 */
/* The words after `hybridmem bench`, and what it measures; for bench*.c only. */
#ifndef HM_CLI_BENCH_BENCH_H
#define HM_CLI_BENCH_BENCH_H

#include <jansson.h>
#include <stdbool.h>

#include "alloc/hybridmem.h"
#include "core/config/config.h"
#include "core/tiers/tiers.h"

#define HM_BENCH_SIZES 32
#define HM_BENCH_REPETITIONS 100
#define HM_BENCH_THREADS 4096

enum { HM_BENCH_FAILED = 1, HM_BENCH_BAD = 2 }; /* exit statuses */
enum hm_bench_kernel { HM_BENCH_ACCUMULATE, HM_BENCH_COPY, HM_BENCH_NT_WRITE, HM_BENCH_KERNELS };
enum hm_bench_role { HM_BENCH_READ, HM_BENCH_WRITTEN, HM_BENCH_ROLES }; /* an array's */

struct hm_bench_words {
    bool kernel[HM_BENCH_KERNELS];
    enum hm_alloc_policy policy[HM_BENCH_ROLES];
    int n_sizes; /* 0: fractions of the fast tier */
    uint64_t bytes[HM_BENCH_SIZES];
    int threads; /* 0: one for each CPU of the process */
    int repetitions;
    size_t block_bytes; /* 0: the library's */
    const char *plot;   /* NULL: none */
    const char *config; /* NULL: the node's */
    bool json;
};

/* How much of the arrays is where, by hm_where. */
struct hm_bench_place {
    uint64_t fast_bytes, slow_bytes;
    uint64_t other_bytes; /* on nodes of neither tier */
    uint64_t file_bytes;  /* in fsdax files */
};

struct hm_bench_result {
    enum hm_bench_kernel kernel;
    uint64_t bytes;       /* of all arrays */
    uint64_t moved_bytes; /* read and written by one repetition, as the program sees it */
    struct hm_bench_place place[HM_BENCH_ROLES];
    char reason[HM_BENCH_ROLES][HM_ALLOC_REASON];
    int n_seconds;
    double seconds[HM_BENCH_REPETITIONS];
    double best_mbs, mean_mbs; /* MB = 10^6 bytes; of the fastest repetition, and of all together */
    double predicted_mbs;      /* negative: not known */
};

struct hm_bench {
    struct hm_bench_words words;
    int threads;
    struct hm_tiers tiers;
    struct hm_config config;
    int n_results;
    struct hm_bench_result result[HM_BENCH_KERNELS * HM_BENCH_SIZES];
};

const char *hm_bench_kernel_name(enum hm_bench_kernel kernel); /* NULL past the last */
const char *hm_bench_policy_name(enum hm_alloc_policy policy); /* "spill" ... */
/* Does nt-write bypass the caches here, or are its stores plain ones? */
bool hm_bench_is_non_temporal(void);
/* Has the kernel an array of this role? */
bool hm_bench_has_array(enum hm_bench_kernel kernel, enum hm_bench_role role);

/* Fill in the words. Returns -1 to go on, or the exit status: all is said then. */
int hm_benchoptions_parse(int argc, char **argv, struct hm_bench_words *words);
/* One line on standard error. Returns `status`. */
int hm_benchoptions_fail(int status, const char *text);

/* Called before repetition `repetition`; -1: while the arrays are made. */
typedef void hm_bench_watch(void *argument, const struct hm_bench_result *result, int repetition);

/* Allocate, touch, measure, free. `result` has kernel and bytes; the rest is filled in but for the prediction. Returns
 * 0, or -1: no memory, no threads. */
int hm_bench_measure(const struct hm_bench *bench, struct hm_bench_result *result, hm_bench_watch *watch,
                     void *argument, struct hm_error *error);

/* Bandwidths in MB/s, fast tier and slow tier; 0: not known. */
struct hm_bench_speed {
    double read_mbs[2], write_mbs[2];
    enum hm_channels channels;
};

/*
 * Bandwidth in MB/s of a kernel that reads and writes these bytes, fast tier and slow tier: Eq. 1 of the spill model
 * (core/plan/model.h) with each tier's time as the sum of its reads' and its writes'. Returns -1 where a bandwidth that
 * is needed is not known, or there are no bytes. Pure.
 */
double hm_bench_predict(const struct hm_bench_speed *speed, const double read_bytes[2], const double write_bytes[2]);
/* The same from what a result says of its arrays; -1 also where a part of them is in neither tier. */
double hm_bench_predict_result(const struct hm_bench *bench, const struct hm_bench_result *result);

void hm_benchprint_text(const struct hm_bench *bench);
/* One object that the caller owns (hybridmem-bench(1) has its keys), NULL where there is no memory. */
json_t *hm_benchprint_json(const struct hm_bench *bench);

#endif
