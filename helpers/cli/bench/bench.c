/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-bench: measures the bandwidth of memory that libhybridmem places, by kernel, policy and size. A kernel is a
 * loop over memory (kernels.h).
 */
#include <config.h>

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/meminfo.h"
#include "base/output.h"
#include "base/size.h"
#include "bench.h"
#include "cli/draw/figures.h"
#include "cli/draw/picture.h"
#include "core/topology/discover.h"

#define BAR 24         /* characters of the progress bar */
#define QUARTERS 8     /* without --sizes: the largest size, in quarters of the fast tier */
#define MOST_SHARE 0.9 /* without --sizes: the largest share of the available memory that a size may have */

struct progress {
    bool is_shown;
    int done, all; /* repetitions; the first writing to the arrays of a result counts as one */
    const struct hm_bench *bench;
};

static void show_progress(void *argument, const struct hm_bench_result *result, int repetition)
{
    struct progress *progress = argument;
    char size[24], bar[BAR + 1];
    progress->done++;
    if (!progress->is_shown)
        return;
    int filled = progress->done * BAR / progress->all;
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)(filled < BAR ? filled : BAR));
    bar[BAR] = '\0';
    fprintf(stderr, "\r\033[K[%s] %s, %s, ", bar, hm_bench_kernel_name(result->kernel),
            hm_size_format(result->bytes, size, sizeof(size)));
    if (repetition < 0)
        fputs("writing to all of it", stderr);
    else
        fprintf(stderr, "%d of %d", repetition + 1, progress->bench->words.repetitions);
}

static void end_progress(const struct progress *progress)
{
    if (progress->is_shown)
        fputs("\r\033[K", stderr);
}

/* MemAvailable of the machine: the bytes that can be allocated without swapping, or 0 if it is not known. */
static uint64_t read_available(void)
{
    char text[4096];
    uint64_t bytes = 0;
    (void)hm_file_read_start("/proc/meminfo", text, sizeof(text));
    return hm_meminfo_parse(text, "MemAvailable", &bytes) == 0 ? bytes : 0;
}

static int choose_sizes(struct hm_bench *bench, struct hm_error *error)
{
    uint64_t available = read_available(), fast = bench->tiers.tier[0].capacity_bytes;
    struct hm_bench_words *words = &bench->words;
    char size[2][24];
    for (int i = 0; i < words->n_sizes; i++)
        if (available > 0 && words->bytes[i] > available)
            return hm_fail(error, ENOMEM, "--sizes: %s are more than the %s of memory that are available",
                           hm_size_format(words->bytes[i], size[0], sizeof(size[0])),
                           hm_size_format(available, size[1], sizeof(size[1])));
    if (words->n_sizes > 0)
        return 0;
    for (uint64_t quarters = 1; quarters <= QUARTERS; quarters++) {
        uint64_t bytes = fast / 4 * quarters >> 20 << 20;
        if (bytes > 0 && (double)bytes <= MOST_SHARE * (double)available)
            words->bytes[words->n_sizes++] = bytes;
    }
    if (words->n_sizes == 0)
        return hm_fail(error, ENOMEM, "no memory for the smallest size, a quarter of the fast tier: give --sizes");
    return 0;
}

static int count_cpus(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;
}

/* Returns 0, or the exit status with a text in `error`. */
static int prepare(struct hm_bench *bench, struct hm_error *error)
{
    const char *config = bench->words.config;
    if (hm_config_read(config ? config : hm_config_path(), config != NULL, &bench->config, error) < 0)
        return HM_BENCH_BAD;
    if (hm_discover(NULL, &bench->tiers.topology, error) < 0)
        return HM_BENCH_FAILED;
    if (hm_tiers_group(&bench->tiers.topology, &bench->config, &bench->tiers, error) < 0)
        return errno == ENODEV ? HM_BENCH_FAILED : HM_BENCH_BAD;
    bench->threads = bench->words.threads ? bench->words.threads : count_cpus();
    if (choose_sizes(bench, error) < 0)
        return HM_BENCH_FAILED;
    for (int kernel = 0; kernel < HM_BENCH_KERNELS; kernel++)
        for (int i = 0; i < bench->words.n_sizes && bench->words.kernel[kernel]; i++)
            bench->result[bench->n_results++] =
                (struct hm_bench_result){.kernel = (enum hm_bench_kernel)kernel, .bytes = bench->words.bytes[i]};
    return 0;
}

static int measure(struct hm_bench *bench, struct hm_error *error)
{
    struct progress progress = {isatty(STDERR_FILENO), 0, bench->n_results * (bench->words.repetitions + 1), bench};
    int status = 0;
    for (int i = 0; i < bench->n_results && status == 0; i++) {
        struct hm_bench_result *result = &bench->result[i];
        status = hm_bench_measure(bench, result, show_progress, &progress, error) < 0 ? HM_BENCH_FAILED : 0;
        result->predicted_mbs = hm_bench_predict_result(bench, result);
    }
    end_progress(&progress);
    return status;
}

/*
 * The picture comes last, as this process then becomes the program that draws. Returns 0, or the exit status: with a
 * text in `error`, or with an empty text if the message is already printed.
 */
static int show(const struct hm_bench *bench, struct hm_error *error)
{
    json_t *figures = bench->words.json || bench->words.plot ? hm_benchprint_json(bench) : NULL;
    FILE *out = hm_picture_choose_output(bench->words.plot);
    int result = 0;
    if (!bench->words.json)
        hm_benchprint_text(out, bench);
    else
        result = hm_figures_put(out, figures, JSON_INDENT(2));
    int status = hm_output_end("hybridmem bench", result, 0);
    if (status == 0 && bench->words.plot) {
        hm_picture_draw("bench", "--plot", bench->words.plot, figures, error);
        status = HM_BENCH_FAILED;
    }
    json_decref(figures);
    return status;
}

int main(int argc, char **argv)
{
    struct hm_error error = {""};
    struct hm_bench *bench = calloc(1, sizeof(*bench));
    if (!bench)
        return hm_benchoptions_fail(HM_BENCH_FAILED, "out of memory");
    int status = hm_benchoptions_parse(argc, argv, &bench->words);
    if (status >= 0)
        goto done;
    status = prepare(bench, &error);
    if (status == 0)
        status = measure(bench, &error);
    if (status == 0)
        status = show(bench, &error);
    if (status && error.text[0])
        hm_benchoptions_fail(status, error.text);
done:
    free(bench);
    return status;
}
