/* SPDX-License-Identifier: Apache-2.0 */
#include <config.h>

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/words.h"
#include "cli/draw/picture.h"
#include "migrator/replay/algorithms.h"
#include "migrator/replay/tiertext.h"

#define LEAST_BINS 16
#define MOST_BINS 1048576
#define MOST_PERIOD UINT64_C(1000000000000)
#define MOST_LATENCY 1000

static int take_fast(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    double percent;
    if (hm_size_parse_percent(text, &percent, error) < 0)
        return -1;
    options->replay.tier[0].share = percent / 100;
    options->has_two_tiers = true;
    return 0;
}

static int take_algorithm(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    const char *name, *about;
    char known[200] = "";
    for (int i = 0; hm_replay_algorithm_at(i, &name, &about); i++) {
        if (strcmp(name, text) == 0) {
            options->replay.algorithm = name;
            return 0;
        }
        snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s", i > 0 ? ", " : "", name);
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is not an algorithm: use one of %s", text, known);
}

static int take_period(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    uint64_t period;
    if (hm_size_parse_number(text, 1, MOST_PERIOD, &period, error) < 0)
        return -1;
    options->replay.period = (double)period;
    return 0;
}

static int take_sample(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    if (strcmp(text, "raw") != 0 && strcmp(text, "mem") != 0)
        return hm_fail(error, EINVAL,
                       "\"%.40s\" cannot be sampled: use raw (loads and stores) or mem (accesses to "
                       "memory)",
                       text);
    options->replay.sampled = strcmp(text, "raw") == 0 ? HM_SAMPLED_RAW : HM_SAMPLED_MEM;
    return 0;
}

static int take_bins(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    uint64_t bins;
    if (hm_size_parse_number(text, LEAST_BINS, MOST_BINS, &bins, error) < 0)
        return -1;
    options->replay.max_extents = (unsigned)bins;
    return 0;
}

/* Reads a latency, as a multiple of the fast tier's: digits, with or without decimals. */
static int parse_latency(const char *text, double *latency, struct hm_error *error)
{
    size_t whole = strspn(text, "0123456789");
    size_t fraction = text[whole] == '.' ? 1 + strspn(text + whole + 1, "0123456789") : 0;
    double value = strtod(text, NULL);
    if (whole == 0 || fraction == 1 || text[whole + fraction] || value < 1 || value > MOST_LATENCY)
        return hm_fail(error, EINVAL,
                       "\"%.40s\" is not a multiple of the fast tier's latency: write a number of 1 to %d, "
                       "as in 2.5",
                       text, MOST_LATENCY);
    *latency = value;
    return 0;
}

static int take_lat_read(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    options->has_latency = options->has_two_tiers = true;
    return parse_latency(text, &options->replay.tier[1].read, error);
}

static int take_lat_write(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    options->has_latency = options->has_two_tiers = true;
    return parse_latency(text, &options->replay.tier[1].write, error);
}

static int take_tier(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    return hm_replay_tier_add(&options->tiers, text, error);
}

static int take_phase_time(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    if (hm_size_parse_amount(text, "s", &options->replay.phase_s, error) < 0)
        return -1;
    if (!(options->replay.phase_s > 0))
        return hm_fail(error, EINVAL, "\"%.40s\" is no time: write more than 0, as in 0.25s", text);
    return 0;
}

static int take_seed(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    return hm_size_parse_number(text, 0, INT64_MAX, &options->replay.seed, error);
}

static int take_explain(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    options->has_explain = true;
    return hm_size_parse_number(text, 0, UINT32_MAX, &options->explain, error);
}

static int take_plot(void *data, const char *text, struct hm_error *error)
{
    struct hm_replay_words *options = data;
    if (hm_picture_check_path(text, error) < 0)
        return -1;
    options->plot = text;
    return 0;
}

static void print_help(void)
{
    const char *name, *about;
    char text[HM_ERROR_TEXT];
    printf("Usage: hybridmem replay TRACE [OPTION]...\n"
           "\n"
           "Shows what the migrator would make of a program's recorded page trace: which\n"
           "share of its accesses the fast tier serves and what an access costs, beside\n"
           "first touch and the best placements there are. TRACE is text, plain or\n"
           "compressed with zstd: rows of\n"
           "phase,page_hex,raw_reads,raw_writes,mem_reads,mem_writes.\n"
           "\n"
           "  --fast PERCENT       size of the fast tier, in percent of all pages that the\n"
           "                       trace touches (default: 10%%)\n");
    for (int i = 0; hm_replay_algorithm_at(i, &name, &about); i++) {
        snprintf(text, sizeof(text), "%s%s", about, i == 0 ? " (default)" : "");
        hm_words_put_row(stdout, HM_WORDS_COLUMNS, 32, text, "%23s%-8s", i > 0 ? "" : "  --algorithm NAME     ", name);
    }
    printf("  --period N           accesses per sample (default: 65536)\n"
           "  --sample raw|mem     sample loads and stores, or what a cache leaves of them\n"
           "                       (default: raw)\n"
           "  --bins N             how many regions are told apart at most (default: %d)\n"
           "  --lat-read X         a read from the slow tier costs X reads from the fast one\n"
           "                       (default: 2)\n"
           "  --lat-write X        the same for writes (default: 5)\n"
           "  --tier NAME:SIZE:READ:WRITE\n"
           "                       a tier, instead of --fast and the latencies; give each,\n"
           "                       fastest first: --tier hbm:10%%:90ns:100ns --tier\n"
           "                       dram:30%%:110ns:110ns --tier cxl:rest:250ns:300ns\n"
           "  --load FILE          each tier's latency depends on its traffic, as FILE says\n"
           "  --phase-time TIME    how long a phase takes, as in 0.25s; for --load (default:\n"
           "                       what the trace says)\n"
           "  --seed N             seed of the random choice of samples (default: 1)\n"
           "  --json               one JSON object\n"
           "  --explain PHASE      also the regions at the end of that phase (counted\n"
           "                       from 0), and why each moved or stayed\n"
           "  --plot FILE.svg      also draw heat and placement over addresses and phases;\n"
           "                       \"-\" is standard output, the figures go to standard error\n"
           "  -h, --help           this text\n"
           "  -V, --version        the version\n"
           "\n"
           "Exit status: 0 shown, 1 a trace or a file of --load that cannot be read, or a\n"
           "picture or output that cannot be written, 2 wrong usage.\n",
           HM_REPLAY_BINS);
}

int hm_replayoptions_fail(int status, const char *text)
{
    fprintf(stderr, "hybridmem replay: %s\n", text);
    return status;
}

/* Takes the tiers that the user has named. Returns -1, or the exit status. */
static int take_tiers(struct hm_replay_words *options)
{
    struct hm_error error = {""};
    char text[HM_ERROR_TEXT + 16];
    if (options->tiers.n_tiers == 0)
        return -1;
    if (options->load || options->has_two_tiers)
        return hm_replayoptions_fail(
            HM_REPLAY_BAD, "--tier does not go with --fast, --lat-read, --lat-write or --load: leave these out");
    if (hm_replay_tiers_check(&options->tiers, &error) < 0) {
        snprintf(text, sizeof(text), "--tier: %s", error.text);
        return hm_replayoptions_fail(HM_REPLAY_BAD, text);
    }
    options->replay.n_tiers = options->tiers.n_tiers;
    options->replay.unit_ns = options->tiers.unit_ns;
    memcpy(options->replay.tier, options->tiers.tier, sizeof(options->replay.tier));
    return -1;
}

/* Refuses options that do not go together. Returns -1, or the exit status. */
static int check_load(const struct hm_replay_words *options)
{
    if (options->load && options->has_latency)
        return hm_replayoptions_fail(HM_REPLAY_BAD,
                                     "--lat-read and --lat-write do not go with --load, which has the latencies");
    if (!options->load && options->replay.phase_s > 0)
        return hm_replayoptions_fail(HM_REPLAY_BAD, "--phase-time is for --load alone: give both or none");
    return -1;
}

int hm_replayoptions_parse(int argc, char **argv, struct hm_replay_words *options)
{
    const struct hm_word table[] = {
        {"fast", .take = take_fast},
        {"algorithm", .take = take_algorithm},
        {"period", .take = take_period},
        {"sample", .take = take_sample},
        {"bins", .take = take_bins},
        {"lat-read", .take = take_lat_read},
        {"lat-write", .take = take_lat_write},
        {"tier", .take = take_tier},
        {"seed", .take = take_seed},
        {"explain", .take = take_explain},
        {"plot", .take = take_plot},
        {"load", .path = &options->load},
        {"phase-time", .take = take_phase_time},
        {"json", .flag = &options->json},
    };
    const struct hm_words words = {"replay", print_help, table, sizeof(table) / sizeof(table[0]), options};
    const char *about;
    *options = (struct hm_replay_words){.replay = {.n_tiers = 2,
                                                   .tier = {{"fast", 0.1, 1, 1}, {"slow", 0, 2, 5}},
                                                   .period = 65536,
                                                   .sampled = HM_SAMPLED_RAW,
                                                   .max_extents = HM_REPLAY_BINS,
                                                   .seed = 1}};
    hm_replay_algorithm_at(0, &options->replay.algorithm, &about);
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    bool is_missing = optind == argc || !*argv[optind];
    if (is_missing || optind + 1 != argc)
        return hm_replayoptions_fail(
            HM_REPLAY_BAD, is_missing ? "the trace is missing: give one, as in: hybridmem replay app.trace.zst"
                                      : "there is more than one trace: give one");
    options->path = argv[optind];
    status = check_load(options);
    return status >= 0 ? status : take_tiers(options);
}
