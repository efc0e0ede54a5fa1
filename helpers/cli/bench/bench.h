/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `hybridmem bench` and its results; only for the files of this folder and their tests. */
#ifndef HM_CLI_BENCH_BENCH_H
#define HM_CLI_BENCH_BENCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "alloc/hybridmem.h"
#include "core/config/config.h"
#include "core/tiers/tiers.h"

/* the most that --sizes, --repetitions and --threads take */
#define HM_BENCH_SIZES 32
#define HM_BENCH_REPETITIONS 100
#define HM_BENCH_THREADS 4096

enum { HM_BENCH_FAILED = 1, HM_BENCH_BAD = 2 }; /* exit statuses */
enum hm_bench_kernel { HM_BENCH_ACCUMULATE, HM_BENCH_COPY, HM_BENCH_NT_WRITE, HM_BENCH_KERNELS };
enum hm_bench_role { HM_BENCH_READ, HM_BENCH_WRITTEN, HM_BENCH_ROLES }; /* what a kernel does with an array */

struct hm_bench_words {
    bool kernel[HM_BENCH_KERNELS];
    enum hm_alloc_policy policy[HM_BENCH_ROLES];
    int n_sizes; /* 0: fractions of the fast tier */
    uint64_t bytes[HM_BENCH_SIZES];
    int threads; /* 0: one for each CPU of the process */
    int repetitions;
    size_t block_bytes; /* 0: the library's default */
    const char *plot;   /* file of the picture; NULL: none */
    const char *config; /* NULL: the node's hybridmem.conf */
    bool json;
};

/* How many bytes of an array are in which tier, by hm_where. */
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
    double best_mbs, mean_mbs; /* MB = 10^6 bytes; of the fastest repetition, and of all repetitions together */
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
const char *hm_bench_policy_name(enum hm_alloc_policy policy); /* "spill" and so on */
/* Whether the kernel nt-write bypasses the caches on this processor. If not, its stores are ordinary ones. */
bool hm_bench_is_non_temporal(void);
/* Whether the kernel has an array of this role. */
bool hm_bench_has_array(enum hm_bench_kernel kernel, enum hm_bench_role role);

/* Fills in the options. Returns -1 to go on, or the exit status, after all messages are printed. */
int hm_benchoptions_parse(int argc, char **argv, struct hm_bench_words *words);
/* Prints one line on standard error. Returns `status`. */
int hm_benchoptions_fail(int status, const char *text);

/* Called once while the threads first write to the arrays, with -1 as `repetition`, and then before each repetition. */
typedef void hm_bench_watch(void *argument, const struct hm_bench_result *result, int repetition);

/*
 * Allocates, touches, measures and frees the arrays. The caller sets kernel and bytes in `result`; the function fills
 * in the rest, except the prediction. Returns 0, or -1 (no memory, no threads).
 */
int hm_bench_measure(const struct hm_bench *bench, struct hm_bench_result *result, hm_bench_watch *watch,
                     void *argument, struct hm_error *error);

/* Bandwidths in MB/s, fast tier and slow tier; 0: not known. */
struct hm_bench_speed {
    double read_mbs[2], write_mbs[2];
    enum hm_channels channels;
};

/*
 * The predicted bandwidth in MB/s of a kernel that reads and writes these bytes in the fast and the slow tier: Eq. 1 of
 * the spill model (core/plan/model.h), where a tier's time is the sum of its reads' and its writes' time. Returns -1 if
 * a bandwidth that is needed is not known, or if there are no bytes. Pure.
 */
double hm_bench_predict(const struct hm_bench_speed *speed, const double read_bytes[2], const double write_bytes[2]);
/* Predicts the bandwidth of one result, from where its arrays are. Also -1 if a part of them is in neither tier. */
double hm_bench_predict_result(const struct hm_bench *bench, const struct hm_bench_result *result);

/* Prints the results as a table that fits the terminal. */
void hm_benchprint_text(FILE *out, const struct hm_bench *bench);
/* Makes one JSON object, whose keys hybridmem-bench(1) lists. The caller owns it. NULL: no memory. */
json_t *hm_benchprint_json(const struct hm_bench *bench);

#endif
