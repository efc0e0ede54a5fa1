/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the options of `hybridmem bench` (bench.h). */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/words.h"
#include "bench.h"
#include "cli/draw/picture.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define REPETITIONS 5
#define LEAST_BYTES (UINT64_C(1) << 20)
#define WORD 64

static const struct {
    const char *name;
    enum hm_alloc_policy policy;
} policies[] = {{"spill", HM_ALLOC_SPILL},
                {"split", HM_ALLOC_SPLIT},
                {"fast", HM_ALLOC_FAST},
                {"slow", HM_ALLOC_SLOW},
                {"interleave", HM_ALLOC_INTERLEAVE}};

const char *hm_bench_policy_name(enum hm_alloc_policy policy)
{
    for (size_t i = 0; i < N_ROWS(policies); i++)
        if (policies[i].policy == policy)
            return policies[i].name;
    return NULL;
}

/*
 * Takes the next word of a comma-separated list. A word of WORD bytes or more is cut, and then matches no name. Returns
 * false at the end.
 */
static bool next_word(const char **list, char word[WORD])
{
    if (!*list)
        return false;
    size_t length = strcspn(*list, ",");
    snprintf(word, WORD, "%.*s", (int)(length < WORD ? length : WORD - 1), *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

static int take_policy(void *data, const char *text, struct hm_error *error)
{
    struct hm_bench_words *words = data;
    char word[WORD];
    int n = 0;
    for (const char *list = text; next_word(&list, word); n++) {
        size_t i = 0;
        while (i < N_ROWS(policies) && strcmp(policies[i].name, word) != 0)
            i++;
        if (i == N_ROWS(policies))
            return hm_fail(error, EINVAL, "\"%.40s\" is not a policy: use spill, split, fast, slow or interleave",
                           word);
        if (n == HM_BENCH_ROLES)
            return hm_fail(error, EINVAL,
                           "\"%.80s\": give one policy, or two: for the array read and for the array written", text);
        for (int role = n; role < HM_BENCH_ROLES; role++) /* one policy is for both arrays */
            words->policy[role] = policies[i].policy;
    }
    return 0;
}

static int take_kernels(void *data, const char *text, struct hm_error *error)
{
    struct hm_bench_words *words = data;
    char word[WORD];
    memset(words->kernel, 0, sizeof(words->kernel));
    for (const char *list = text; next_word(&list, word);) {
        enum hm_bench_kernel kernel = HM_BENCH_ACCUMULATE;
        while (kernel < HM_BENCH_KERNELS && strcmp(hm_bench_kernel_name(kernel), word) != 0)
            kernel++;
        if (kernel == HM_BENCH_KERNELS)
            return hm_fail(error, EINVAL, "\"%.40s\" is not a kernel: use accumulate, copy and nt-write", word);
        words->kernel[kernel] = true;
    }
    return 0;
}

static int take_sizes(void *data, const char *text, struct hm_error *error)
{
    struct hm_bench_words *words = data;
    char word[WORD];
    words->n_sizes = 0;
    for (const char *list = text; next_word(&list, word);) {
        uint64_t bytes;
        if (words->n_sizes == HM_BENCH_SIZES)
            return hm_fail(error, EINVAL, "there are more than %d sizes", HM_BENCH_SIZES);
        if (hm_size_parse(word, &bytes, error) < 0)
            return -1;
        if (bytes < LEAST_BYTES)
            return hm_fail(error, ERANGE, "\"%.40s\" is too small: 1M is the least", word);
        words->bytes[words->n_sizes++] = bytes;
    }
    return 0;
}

static int take_number(const char *text, uint64_t most, int *number, struct hm_error *error)
{
    uint64_t value;
    if (hm_size_parse_number(text, 1, most, &value, error) < 0)
        return -1;
    *number = (int)value;
    return 0;
}

static int take_threads(void *data, const char *text, struct hm_error *error)
{
    struct hm_bench_words *words = data;
    return take_number(text, HM_BENCH_THREADS, &words->threads, error);
}

static int take_repetitions(void *data, const char *text, struct hm_error *error)
{
    struct hm_bench_words *words = data;
    return take_number(text, HM_BENCH_REPETITIONS, &words->repetitions, error);
}

static int take_block(void *data, const char *text, struct hm_error *error)
{
    struct hm_bench_words *words = data;
    uint64_t bytes;
    if (hm_size_parse(text, &bytes, error) < 0)
        return -1;
    if (bytes == 0)
        return hm_fail(error, ERANGE, "\"%.40s\" is nothing: leave --block out for the library's own size", text);
    words->block_bytes = bytes;
    return 0;
}

static int take_plot(void *data, const char *text, struct hm_error *error)
{
    struct hm_bench_words *words = data;
    if (hm_picture_check_path(text, error) < 0)
        return -1;
    words->plot = text;
    return 0;
}

static void print_help(void)
{
    printf("Usage: hybridmem bench [OPTION]...\n"
           "\n"
           "Measures the bandwidth of memory that libhybridmem places, over sizes that go\n"
           "past the fast tier, beside what the tiers' bandwidths predict. It uses all\n"
           "CPUs and most of the node's memory: run it in a job of its own.\n"
           "\n"
           "  --kernels LIST       accumulate (reads only), copy, nt-write (writes past the\n"
           "                       caches%s);\n"
           "                       default: all\n"
           "  --policy A[,B]       A for the array that is read, B for the one that is\n"
           "                       written (default: as A): spill (default), split, fast,\n"
           "                       slow or interleave\n"
           "  --sizes LIST         bytes of a kernel's arrays together: digits and K, M, G\n"
           "                       or T, at least 1M (default: a quarter to twice the fast\n"
           "                       tier, as far as there is memory)\n"
           "  --threads N          default: one for each CPU of the process\n"
           "  --repetitions N      1 to %d (default: %d)\n"
           "  --block BYTES        bytes that go to one node in a row (default: the\n"
           "                       library's)\n"
           "  --config FILE        instead of %s, for the tiers'\n"
           "                       bandwidths\n"
           "  --plot FILE.svg      also draw bandwidth over size; \"-\" is standard output,\n"
           "                       the figures go to standard error\n"
           "  --json               one JSON object; what is not known is null\n"
           "  -h, --help           this text\n"
           "  -V, --version        the version\n"
           "\n"
           "Exit status: 0 shown, 1 no memory, or a picture or output that cannot be\n"
           "written, 2 wrong usage or a file that cannot be used.\n",
           hm_bench_is_non_temporal() ? "" : "; not on this processor: plain stores", HM_BENCH_REPETITIONS, REPETITIONS,
           hm_config_path());
}

int hm_benchoptions_fail(int status, const char *text)
{
    fprintf(stderr, "hybridmem bench: %s\n", text);
    return status;
}

int hm_benchoptions_parse(int argc, char **argv, struct hm_bench_words *words)
{
    const struct hm_word table[] = {
        {"kernels", .take = take_kernels},
        {"policy", .take = take_policy},
        {"sizes", .take = take_sizes},
        {"threads", .take = take_threads},
        {"repetitions", .take = take_repetitions},
        {"block", .take = take_block},
        {"config", .path = &words->config},
        {"plot", .take = take_plot},
        {"json", .flag = &words->json},
    };
    const struct hm_words all = {"bench", print_help, table, N_ROWS(table), words};
    *words = (struct hm_bench_words){
        .kernel = {true, true, true}, .policy = {HM_ALLOC_SPILL, HM_ALLOC_SPILL}, .repetitions = REPETITIONS};
    int status = hm_words_parse(argc, argv, &all);
    if (status >= 0)
        return status;
    return optind < argc ? hm_words_refuse(&all, argv[optind]) : -1;
}
