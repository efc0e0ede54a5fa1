/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "migrator/decide/decide.h"
#include "migrator/sources/source.h"

#define MOST_LATENCY 1000
#define MOST_PID (1 << 22)
#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static int take_cgroup(struct hm_options *options, const char *value, struct hm_error *error)
{
    (void)error;
    options->cgroup = value;
    return 0;
}

static int take_guard(struct hm_options *options, const char *value, struct hm_error *error)
{
    (void)error;
    options->guard = value;
    return 0;
}

static int take_broker(struct hm_options *options, const char *value, struct hm_error *error)
{
    (void)error;
    options->broker = value;
    return 0;
}

static int take_pid(struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t pid;
    if (hm_size_parse_number(value, 1, MOST_PID, &pid, error) != 0)
        return -1;
    if (options->n_pids == HM_OPTIONS_PIDS)
        return hm_fail(error, EINVAL, "\"%.40s\" is one process too many: at most %d", value, HM_OPTIONS_PIDS);
    options->pid[options->n_pids++] = (pid_t)pid;
    return 0;
}

static int take_progress(struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t number;
    int result = hm_size_parse_number(value, 0, 65535, &number, error);
    options->progress_fd = result == 0 ? (int)number : -1;
    return result;
}

static int take_job(struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t number = 0;
    int result = hm_size_parse_number(value, 1, UINT32_MAX, &number, error);
    options->job_id = (uint32_t)number;
    return result;
}

static int take_step(struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t number = 0;
    int result = hm_size_parse_number(value, 0, UINT32_MAX, &number, error);
    options->step_id = (uint32_t)number;
    options->has_job = true;
    return result;
}

static int take_fast(struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_set_parse(&options->fast, value, error);
}

static int take_slow(struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_set_parse(&options->slow, value, error);
}

static int take_cap(struct hm_options *options, const char *value, struct hm_error *error)
{
    options->cap_bytes = UINT64_MAX;
    options->cap_percent = -1;
    if (strchr(value, '%'))
        return hm_size_parse_percent(value, &options->cap_percent, error);
    return hm_size_parse(value, &options->cap_bytes, error);
}

static int take_reserve(struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_size_parse(value, &options->reserve_bytes, error);
}

static int take_algorithm(struct hm_options *options, const char *value, struct hm_error *error)
{
    const char *name, *about;
    for (int i = 0; hm_algorithm_at(i, &name, &about); i++) {
        if (strcmp(name, value) == 0) {
            options->algorithm = name;
            return 0;
        }
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is no algorithm", value);
}

static int take_hot_by(struct hm_options *options, const char *value, struct hm_error *error)
{
    options->hot_by_writes = strcmp(value, "writes") == 0;
    if (options->hot_by_writes || strcmp(value, "accesses") == 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" makes nothing hot: use accesses or writes", value);
}

static int take_bins(struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t number = 0;
    int result = hm_size_parse_number(value, 16, 1048576, &number, error);
    options->max_extents = (unsigned)number;
    return result;
}

static int take_source(struct hm_options *options, const char *value, struct hm_error *error)
{
    char names[128];
    options->source = value;
    if (strcmp(value, "auto") == 0)
        return 0;
    for (int i = 0; hm_source_at(i); i++)
        if (strcmp(hm_source_at(i)->name, value) == 0)
            return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is no source: use %s", value, hm_source_names(names, sizeof(names)));
}

static int take_period(struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_size_parse_number(value, 1, UINT64_C(1) << 40, &options->period, error);
}

static int take_interval(struct hm_options *options, const char *value, struct hm_error *error)
{
    if (hm_size_parse_duration(value, &options->interval_ms, error) != 0)
        return -1;
    if (options->interval_ms < 10 || options->interval_ms > DAY_MS)
        return hm_fail(error, ERANGE, "\"%.40s\" is not a time of 10ms to 24h", value);
    return 0;
}

static int take_phase_samples(struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_size_parse_number(value, 1, UINT64_C(1) << 40, &options->phase_samples, error);
}

static int take_overhead(struct hm_options *options, const char *value, struct hm_error *error)
{
    int result = hm_size_parse_percent(value, &options->overhead, error);
    options->overhead /= 100;
    return result;
}

static int take_rate(struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_size_parse(value, &options->rate, error);
}

static int take_end(struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t number = 0;
    int result = hm_size_parse_number(value, 0, INT64_MAX, &number, error);
    options->end_s = (int64_t)number;
    return result;
}

static int parse_latency(const char *value, double *latency, struct hm_error *error)
{
    char *end;
    if (value[strspn(value, "0123456789.")] == '\0') {
        *latency = strtod(value, &end);
        if (end > value && *end == '\0' && *latency >= 1 && *latency <= MOST_LATENCY)
            return 0;
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is not a latency relative to the fast tier's: 1 to %d", value,
                   MOST_LATENCY);
}

static int take_lat_read(struct hm_options *options, const char *value, struct hm_error *error)
{
    return parse_latency(value, &options->lat_read, error);
}

static int take_lat_write(struct hm_options *options, const char *value, struct hm_error *error)
{
    return parse_latency(value, &options->lat_write, error);
}

static int take_seed(struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_size_parse_number(value, 0, UINT64_MAX, &options->seed, error);
}

static const struct {
    const char *name, *value, *about;
    int (*take)(struct hm_options *options, const char *value, struct hm_error *error);
} rows[] = {
    {"--cgroup", "DIR", "the processes of this cgroup and those below it", take_cgroup},
    {"--pid", "PID", "this process, in place of a cgroup; repeatable", take_pid},
    {"--guard", "FILE", "cgroup.events that ends it (default: DIR's)", take_guard},
    {"--fast-nodes", "LIST", "NUMA nodes of the fast tier", take_fast},
    {"--slow-nodes", "LIST", "NUMA nodes of the slow tier", take_slow},
    {"--cap", "SIZE|PERCENT%", "most in the fast tier (default: what has room)", take_cap},
    {"--reserve", "SIZE", "left in the fast tier (default: a fiftieth)", take_reserve},
    {"--source", "NAME", "one of those below, or the best (default: auto)", take_source},
    {"--period", "N", "accesses per sample (default: the source's)", take_period},
    {"--overhead", "PERCENT%", "CPU time for it, of the job's (default: 1%)", take_overhead},
    {"--broker", "PATH", "socket of the DAMON broker", take_broker},
    {"--interval", "TIME", "length of a phase (default: 10s)", take_interval},
    {"--phase-samples", "N", "phases of N samples in place of time", take_phase_samples},
    {"--algorithm", "NAME", "one of those below (default: the first)", take_algorithm},
    {"--hot-by", "WHAT", "accesses, or writes alone (default: accesses)", take_hot_by},
    {"--bins", "N", "most regions told apart (default: 1000)", take_bins},
    {"--rate", "SIZE", "most bytes moved a second (default: no limit)", take_rate},
    {"--end", "SECONDS", "end of the job's time limit, since 1970", take_end},
    {"--lat-read", "X", "read of the slow tier, fast = 1 (default: 2)", take_lat_read},
    {"--lat-write", "X", "the same of a write (default: 5)", take_lat_write},
    {"--seed", "N", "of the random choices (default: 1)", take_seed},
    {"--job", "ID", "the job's number, for hybridmem top; with --step", take_job},
    {"--step", "ID", "the step's number", take_step},
    {"--progress-fd", "N", "descriptor of the file for the figures", take_progress},
};

static const struct {
    const char *name, *about;
    size_t flag;
} flags[] = {
    {"--json", "print the figures at the end", offsetof(struct hm_options, json)},
    {"--help", "print this", offsetof(struct hm_options, help)},
};

void hm_options_help(void)
{
    const char *name, *about;
    printf("usage: hybridmem-migrator --cgroup DIR|--pid PID... --fast-nodes LIST\n"
           "                          --slow-nodes LIST [OPTION...]\n\n"
           "Samples the memory accesses of a step's processes and keeps what is hot in the\n"
           "fast tier, until the processes have ended or SIGTERM comes. Slurm steps with\n"
           "--hybrid-mem=migrate and isolate have one started for them.\n\n");
    for (size_t i = 0; i < N_ROWS; i++)
        printf("  %s %-*s %s\n", rows[i].name, (int)(27 - strlen(rows[i].name)), rows[i].value, rows[i].about);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        printf("  %-28s %s\n", flags[i].name, flags[i].about);
    printf("\nAlgorithms:\n");
    for (int i = 0; hm_algorithm_at(i, &name, &about); i++)
        printf("  %-10s %s\n", name, about);
    printf("\nSources, best first (hybridmem sources tells more):\n");
    for (int i = 0; hm_source_at(i); i++)
        printf("  %s\n", hm_source_at(i)->name);
}

static bool take_flag(struct hm_options *options, const char *word)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(word, flags[i].name) == 0) {
            *(bool *)((char *)options + flags[i].flag) = true;
            return true;
        }
    }
    return false;
}

/* Takes --NAME VALUE or --NAME=VALUE. *used becomes the number of words. */
static int take_word(struct hm_options *options, char **words, int *used, struct hm_error *error)
{
    struct hm_error inner = {{0}};
    for (size_t i = 0; i < N_ROWS; i++) {
        size_t length = strlen(rows[i].name);
        if (strncmp(words[0], rows[i].name, length) != 0 || (words[0][length] && words[0][length] != '='))
            continue;
        const char *value = words[0][length] == '=' ? words[0] + length + 1 : words[1];
        *used = words[0][length] == '=' ? 1 : 2;
        if (!value)
            return hm_fail(error, EINVAL, "%s wants a value: %s", rows[i].name, rows[i].value);
        if (rows[i].take(options, value, &inner) == 0)
            return 0;
        return hm_fail(error, errno, "%s: %s", rows[i].name, inner.text);
    }
    return hm_fail(error, EINVAL, "unknown word \"%.60s\" (see --help)", words[0]);
}

static int check(const struct hm_options *options, struct hm_error *error)
{
    if (!options->cgroup[0] == (options->n_pids == 0))
        return hm_fail(error, EINVAL, "give either --cgroup or --pid");
    if (hm_set_is_empty(&options->fast) || hm_set_is_empty(&options->slow))
        return hm_fail(error, EINVAL, "--fast-nodes and --slow-nodes are needed");
    if (options->has_job != (options->job_id != 0))
        return hm_fail(error, EINVAL, "--job and --step go together");
    return 0;
}

int hm_options_parse(struct hm_options *options, int argc, char **argv, struct hm_error *error)
{
    const char *about;
    *options = (struct hm_options){
        .cgroup = "",
        .guard = "",
        .progress_fd = -1,
        .cap_bytes = UINT64_MAX,
        .cap_percent = -1,
        .reserve_bytes = UINT64_MAX,
        .source = "auto",
        .interval_ms = 10000,
        .overhead = 0.01,
        .broker = "",
        .lat_read = 2,
        .lat_write = 5,
        .seed = 1,
    };
    hm_algorithm_at(0, &options->algorithm, &about);
    for (int i = 1; i < argc;) {
        int used = 1;
        if (!take_flag(options, argv[i]) && take_word(options, argv + i, &used, error) != 0)
            return -1;
        i += used;
    }
    return options->help ? 0 : check(options, error);
}
