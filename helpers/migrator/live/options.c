/* SPDX-License-Identifier: Apache-2.0 */
#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"
#include "migrator/decide/decide.h"
#include "migrator/sources/source.h"
#include "optiontiers.h"
#include "optionvalue.h"

#define DAY_MS (UINT64_C(24) * 3600 * 1000)
#define MOST_COUNT (UINT64_C(1) << 40)
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))
#define FIELD(field) offsetof(struct hm_options, field)

static const struct hm_option rows[] = {
    {"--cgroup", "DIR", "the processes of this cgroup and those below it", hm_option_text, FIELD(cgroup), 0, 0},
    {"--pid", "PID", "this process, in place of a cgroup; repeatable", hm_option_pid, 0, 1, HM_MOST_PID},
    {"--guard", "FILE", "cgroup.events that tells the end (default: DIR's)", hm_option_text, FIELD(guard), 0, 0},
    {"--fast-nodes", "LIST", "NUMA nodes of the fast tier", hm_option_nodes, FIELD(fast), 0, 0},
    {"--slow-nodes", "LIST", "NUMA nodes of the slow tier", hm_option_nodes, FIELD(slow), 0, 0},
    {"--middle-tier", "TIER", "LIST[:READ[:WRITE]], a tier between; repeatable", hm_option_middle_tier, 0, 0, 0},
    {"--cap", "SIZE|PERCENT%", "most in the fast tier (default: what is free)", hm_option_cap, 0, 0, 0},
    {"--reserve", "SIZE", "kept free in the fast tier at most (a fiftieth)", hm_option_size, FIELD(reserve_bytes), 0,
     0},
    {"--source", "NAME", "one of those below, or the best (default: auto)", hm_option_source, 0, 0, 0},
    {"--period", "N", "accesses per sample (default: the source's)", hm_option_number, FIELD(period), 1, MOST_COUNT},
    {"--overhead", "PERCENT%", "its share of the job's CPU time (default: 1%)", hm_option_overhead, 0, 0, 0},
    {"--shares", "FILE", "the jobs that share the fast tier; with --job", hm_option_text, FIELD(shares), 0, 0},
    {"--shared-nodes", "LIST", "all of that tier (default: --fast-nodes)", hm_option_nodes, FIELD(shared), 0, 0},
    {"--load", "FILE", "latencies of the tiers by their traffic", hm_option_text, FIELD(load), 0, 0},
    {"--peaks", "TEXT", "the same, as text, in place of a file", hm_option_text, FIELD(peaks), 0, 0},
    {"--traffic", "FILE", "the monitor's samples, with that traffic", hm_option_text, FIELD(traffic), 0, 0},
    {"--broker", "PATH", "socket of the DAMON broker", hm_option_text, FIELD(broker), 0, 0},
    {"--interval", "TIME", "length of a phase (default: 10s)", hm_option_interval, 0, 10, DAY_MS},
    {"--phase-samples", "N", "phases of N samples in place of time", hm_option_number, FIELD(phase_samples), 1,
     MOST_COUNT},
    {"--algorithm", "NAME", "one of those below (default: the first)", hm_option_algorithm, 0, 0, 0},
    {"--hot-by", "WHAT", "accesses, or writes alone (default: accesses)", hm_option_hot_by, 0, 0, 0},
    {"--bins", "N", "at most N regions (default: 8192; bins: 1000)", hm_option_small, FIELD(max_extents), 16, 1048576},
    {"--rate", "SIZE", "bytes moved a second at most (default: no limit)", hm_option_size, FIELD(rate), 0, 0},
    {"--end", "SECONDS", "end of the job's time limit, since 1970", hm_option_number, FIELD(end_s), 0, INT64_MAX},
    {"--lat-read", "X", "read of the slow tier, fast = 1 (default: 2)", hm_option_latency, FIELD(lat_read), 1,
     HM_OPTIONS_MOST_LATENCY},
    {"--lat-write", "X", "the same of a write (default: 5)", hm_option_latency, FIELD(lat_write), 1,
     HM_OPTIONS_MOST_LATENCY},
    {"--seed", "N", "seed of the random choices (default: 1)", hm_option_number, FIELD(seed), 0, UINT64_MAX},
    {"--job", "ID", "the job's number, for hybridmem top; with --step", hm_option_small, FIELD(job_id), 1, UINT32_MAX},
    {"--step", "ID", "the step's number", hm_option_step, FIELD(step_id), 0, UINT32_MAX},
    {"--uid", "N", "become this user first; needs root and --gid", hm_option_small, FIELD(uid), 0, UINT32_MAX - 1},
    {"--gid", "N", "the group of this user", hm_option_small, FIELD(gid), 0, UINT32_MAX - 1},
    {"--progress-fd", "N", "descriptor of the file for the figures", hm_option_small, FIELD(progress_fd), 0, 65535},
};
_Static_assert(sizeof(unsigned) == 4 && sizeof(int) == 4, "hm_option_small writes fields of 32 bits");

static const struct {
    const char *name, *about;
    size_t flag;
} flags[] = {
    {"--json", "print the figures at the end", FIELD(json)},
    {"--help", "print this", FIELD(help)},
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
        if (rows[i].take(&rows[i], options, value, &inner) == 0)
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
    if (options->load[0] && options->peaks[0])
        return hm_fail(error, EINVAL, "--load and --peaks exclude each other: give one");
    if (options->shares[0] && !options->has_job)
        return hm_fail(error, EINVAL, "--shares wants --job and --step");
    if ((options->uid == HM_OPTIONS_NO_ID) != (options->gid == HM_OPTIONS_NO_ID))
        return hm_fail(error, EINVAL, "--uid and --gid go together");
    return hm_options_check_tiers(options, error);
}

int hm_options_parse(struct hm_options *options, int argc, char **argv, struct hm_error *error)
{
    const char *about;
    *options = (struct hm_options){
        .cgroup = "",
        .guard = "",
        .progress_fd = -1,
        .uid = HM_OPTIONS_NO_ID,
        .gid = HM_OPTIONS_NO_ID,
        .cap_bytes = UINT64_MAX,
        .cap_percent = -1,
        .reserve_bytes = UINT64_MAX,
        .source = "auto",
        .interval_ms = 10000,
        .overhead = 0.01,
        .broker = "",
        .shares = "",
        .traffic = "",
        .load = "",
        .peaks = "",
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
