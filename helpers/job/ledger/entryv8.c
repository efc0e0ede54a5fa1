/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads ledger entries of version 8 of the entries' format, which were raw structures. So a node that is upgraded from
 * that format while jobs run loses no entry. The structure is frozen here, with its limits and the numbers of its
 * enums. The tables below turn it into today's text, as table.c does for today's structure. This file can be removed
 * when nobody upgrades from version 8 any more.
 */
#include <errno.h>
#include <string.h>

#include "entry.h"

#define MAGIC 0x484d4a31u
#define VERSION 8

struct v8_keys {
    uint64_t fast_bytes;
    double fast_percent;
    uint64_t period, interval_ms, bins, rate_bytes;
    double overhead_percent;
    uint32_t algorithm, source, hot_by;
};

struct v8_request {
    uint32_t mode, kind, socket;
    struct v8_keys migrate;
    uint64_t size_bytes;
    bool keep;
    char text[256];
};

struct v8_plan_migration {
    bool is_wanted;
    struct hm_set fast_nodes, slow_nodes;
    uint64_t cap_bytes;
    double read_latency, write_latency;
    struct v8_keys keys;
};

struct v8_plan_fsdax {
    bool is_wanted, is_kept;
    struct hm_set sockets;
    uint64_t size_bytes, map_bytes;
};

struct v8_plan {
    struct v8_request request;
    uint32_t policy;
    struct hm_set nodes;
    bool has_weights, must_set_weights;
    uint8_t weights[128];
    uint64_t reserve_bytes;
    double predicted_bandwidth_mbs;
    struct v8_plan_migration migration;
    struct v8_plan_fsdax fsdax;
    char reason[640];
    uint32_t n_warnings;
    char warning[8][200];
};

struct v8_process {
    int32_t pid;
    uint64_t start_time;
};

struct v8_migrator {
    uint32_t step_id;
    struct v8_process process;
};

struct v8_progress {
    uint32_t magic, version, bytes;
    uint32_t step_id, state;
    char algorithm[16], source[16], source_why[200];
    uint64_t period;
    uint32_t period_is_time, knows_writes;
    uint64_t interval_ms;
    char hot_by[16];
    uint64_t phases, samples, lost, throttled, dropped, promoted_bytes, demoted_bytes, unmoved_bytes[5];
    uint64_t capacity_bytes, above_cap_bytes, first_above_cap_bytes;
    double cpu_s, kernel_cpu_s, fast_share, last_fast_share, best_share;
    uint64_t first_ns, last_ns;
    uint32_t n_ranks, most_ranks, n_warnings;
    char warning[4][200];
};

struct v8_migration {
    uint32_t n_steps, n_begun;
    uint64_t judged_samples;
    struct v8_progress total, step[16];
};

struct v8_namespace {
    char name[64], device[24], fs[8];
    uint32_t socket;
    uint64_t bytes;
};

struct v8_namespaces {
    bool is_begun;
    uint32_t restart, n;
    struct v8_namespace each[32];
    double create_s, destroy_s;
    bool is_kept;
    int64_t kept_until_s;
};

struct v8_mongroup {
    bool is_begun;
    uint32_t restart;
    uint64_t made_mono_ns;
    char why[200];
};

struct v8_change {
    char path[96], before[16], after[16];
};

struct v8_job {
    uint32_t magic, version, bytes;
    uint32_t job_id, restart, array_job_id, array_task_id, het_job_id, uid, gid;
    char user[64], account[64], partition[64], cluster[64], node[64], request[256];
    bool request_is_default;
    char refusal[768];
    bool is_entered, recorded;
    int64_t start_ns;
    uint64_t end_s;
    char boot_id[40];
    bool had_company, has_cores;
    struct hm_set cores;
    char cgroup[256], home_cgroup[256];
    struct v8_process monitor, finisher;
    bool has_ended;
    int64_t end_ns, dead_ns;
    bool has_plan;
    struct v8_plan plan;
    uint64_t memory_peak;
    uint32_t n_steps, step[64];
    bool has_exit_status, exit_status_is_final;
    int32_t exit_status;
    struct v8_migrator migrator[64];
    struct v8_migration migration;
    bool has_taken;
    uint32_t taken_step;
    struct v8_namespaces namespaces;
    struct v8_mongroup mongroup;
    uint32_t n_changes;
    struct v8_change change[136];
    uint32_t n_warnings;
    char warning[16][200];
};

/*
 * In version 8 "dram", "pmem", "cxl" and "hbm" were the mode "fast" with a kind; hm_entryv8_format makes modes of them.
 */
enum { FAST = 1, FIRST_KIND = 8, KINDS = 4 };
static const char *const modes[] = {"off",     "fast",    "slow",  "interleave",          "spill",
                                    "isolate", "migrate", "fsdax", [FIRST_KIND] = "dram", "pmem",
                                    "cxl",     "hbm",     NULL};
static const char *const sockets[] = {"all", "local", "remote", NULL};
static const char *const algorithms[] = {"unsaid", "regions", "bins", NULL};
static const char *const sources[] = {"", "auto", "perf", "damon", "faults", NULL};
static const char *const hot_by[] = {"unsaid", "accesses", "writes", NULL};
static const char *const policies[] = {"default",        "bind",           "interleave", "weighted-interleave",
                                       "preferred-many", "bind-balancing", NULL};
static const char *const states[] = {"starting", "running", "ended", NULL};

/* clang-format off */
static const struct hm_field keys_table[] = {
    HM_FIELD(v8_keys, fast_bytes), HM_FIELD(v8_keys, fast_percent), HM_FIELD(v8_keys, period),
    HM_FIELD(v8_keys, interval_ms), HM_FIELD(v8_keys, bins), HM_FIELD(v8_keys, rate_bytes),
    HM_FIELD(v8_keys, overhead_percent), HM_FIELD_WORDS(v8_keys, algorithm, algorithms),
    HM_FIELD_WORDS(v8_keys, source, sources), HM_FIELD_WORDS(v8_keys, hot_by, hot_by), {.name = NULL},
};
static const struct hm_field request_table[] = {
    HM_FIELD_WORDS(v8_request, mode, modes),
    HM_FIELD_WORDS(v8_request, socket, sockets), HM_FIELD_GROUP_OF(v8_request, migrate, keys_table),
    HM_FIELD(v8_request, size_bytes), HM_FIELD(v8_request, keep), HM_FIELD(v8_request, text), {.name = NULL},
};
static const struct hm_field plan_migration_table[] = {
    HM_FIELD(v8_plan_migration, is_wanted), HM_FIELD(v8_plan_migration, fast_nodes),
    HM_FIELD(v8_plan_migration, slow_nodes), HM_FIELD(v8_plan_migration, cap_bytes),
    HM_FIELD(v8_plan_migration, read_latency), HM_FIELD(v8_plan_migration, write_latency),
    HM_FIELD_GROUP_OF(v8_plan_migration, keys, keys_table), {.name = NULL},
};
static const struct hm_field plan_fsdax_table[] = {
    HM_FIELD(v8_plan_fsdax, is_wanted), HM_FIELD(v8_plan_fsdax, is_kept), HM_FIELD(v8_plan_fsdax, sockets),
    HM_FIELD(v8_plan_fsdax, size_bytes), HM_FIELD(v8_plan_fsdax, map_bytes), {.name = NULL},
};
static const struct hm_field plan_table[] = {
    HM_FIELD_GROUP_OF(v8_plan, request, request_table), HM_FIELD_WORDS(v8_plan, policy, policies),
    HM_FIELD(v8_plan, nodes), HM_FIELD(v8_plan, has_weights), HM_FIELD(v8_plan, must_set_weights),
    HM_FIELD_LIST(v8_plan, weights), HM_FIELD(v8_plan, reserve_bytes), HM_FIELD(v8_plan, predicted_bandwidth_mbs),
    HM_FIELD_GROUP_OF(v8_plan, migration, plan_migration_table), HM_FIELD_GROUP_OF(v8_plan, fsdax, plan_fsdax_table),
    HM_FIELD(v8_plan, reason), HM_FIELD(v8_plan, n_warnings),
    HM_FIELD_LIST(v8_plan, warning, HM_COUNTED_BY(v8_plan, n_warnings)), {.name = NULL},
};
static const struct hm_field process_table[] = {
    HM_FIELD(v8_process, pid), HM_FIELD(v8_process, start_time), {.name = NULL},
};
static const struct hm_field migrator_table[] = {
    HM_FIELD(v8_migrator, step_id), HM_FIELD_GROUP_OF(v8_migrator, process, process_table), {.name = NULL},
};
static const struct hm_field progress_table[] = {
    HM_FIELD(v8_progress, step_id), HM_FIELD_WORDS(v8_progress, state, states), HM_FIELD(v8_progress, algorithm),
    HM_FIELD(v8_progress, source), HM_FIELD(v8_progress, source_why), HM_FIELD(v8_progress, period),
    HM_FIELD(v8_progress, period_is_time), HM_FIELD(v8_progress, knows_writes), HM_FIELD(v8_progress, interval_ms),
    HM_FIELD(v8_progress, hot_by), HM_FIELD(v8_progress, phases), HM_FIELD(v8_progress, samples),
    HM_FIELD(v8_progress, lost), HM_FIELD(v8_progress, throttled), HM_FIELD(v8_progress, dropped),
    HM_FIELD(v8_progress, promoted_bytes), HM_FIELD(v8_progress, demoted_bytes),
    HM_FIELD_LIST(v8_progress, unmoved_bytes), HM_FIELD(v8_progress, capacity_bytes),
    HM_FIELD(v8_progress, above_cap_bytes), HM_FIELD(v8_progress, first_above_cap_bytes), HM_FIELD(v8_progress, cpu_s),
    HM_FIELD(v8_progress, kernel_cpu_s), HM_FIELD(v8_progress, fast_share), HM_FIELD(v8_progress, last_fast_share),
    HM_FIELD(v8_progress, best_share), HM_FIELD(v8_progress, first_ns), HM_FIELD(v8_progress, last_ns),
    HM_FIELD(v8_progress, n_ranks), HM_FIELD(v8_progress, most_ranks), HM_FIELD(v8_progress, n_warnings),
    HM_FIELD_LIST(v8_progress, warning, HM_COUNTED_BY(v8_progress, n_warnings)), {.name = NULL},
};
static const struct hm_field migration_table[] = {
    HM_FIELD(v8_migration, n_steps), HM_FIELD(v8_migration, n_begun), HM_FIELD(v8_migration, judged_samples),
    HM_FIELD_GROUP_OF(v8_migration, total, progress_table),
    HM_FIELD_GROUPS(v8_migration, step, progress_table, HM_COUNTED_BY(v8_migration, n_steps), .may_exceed = true),
    {.name = NULL},
};
static const struct hm_field namespace_table[] = {
    HM_FIELD(v8_namespace, name), HM_FIELD(v8_namespace, device), HM_FIELD(v8_namespace, fs),
    HM_FIELD(v8_namespace, socket), HM_FIELD(v8_namespace, bytes), {.name = NULL},
};
static const struct hm_field namespaces_table[] = {
    HM_FIELD(v8_namespaces, is_begun), HM_FIELD(v8_namespaces, restart), HM_FIELD(v8_namespaces, n),
    HM_FIELD_GROUPS(v8_namespaces, each, namespace_table, HM_COUNTED_BY(v8_namespaces, n)),
    HM_FIELD(v8_namespaces, create_s), HM_FIELD(v8_namespaces, destroy_s), HM_FIELD(v8_namespaces, is_kept),
    HM_FIELD(v8_namespaces, kept_until_s), {.name = NULL},
};
static const struct hm_field mongroup_table[] = {
    HM_FIELD(v8_mongroup, is_begun), HM_FIELD(v8_mongroup, restart), HM_FIELD(v8_mongroup, made_mono_ns),
    HM_FIELD(v8_mongroup, why), {.name = NULL},
};
static const struct hm_field change_table[] = {
    HM_FIELD(v8_change, path), HM_FIELD(v8_change, before), HM_FIELD(v8_change, after), {.name = NULL},
};
static const struct hm_field job_table[] = {
    HM_FIELD(v8_job, job_id), HM_FIELD(v8_job, restart), HM_FIELD(v8_job, array_job_id),
    HM_FIELD(v8_job, array_task_id), HM_FIELD(v8_job, het_job_id), HM_FIELD(v8_job, uid), HM_FIELD(v8_job, gid),
    HM_FIELD(v8_job, user), HM_FIELD(v8_job, account), HM_FIELD(v8_job, partition), HM_FIELD(v8_job, cluster),
    HM_FIELD(v8_job, node), HM_FIELD(v8_job, request), HM_FIELD(v8_job, request_is_default), HM_FIELD(v8_job, refusal),
    HM_FIELD(v8_job, is_entered), HM_FIELD(v8_job, recorded), HM_FIELD(v8_job, start_ns), HM_FIELD(v8_job, end_s),
    HM_FIELD(v8_job, boot_id), HM_FIELD(v8_job, had_company), HM_FIELD(v8_job, has_cores), HM_FIELD(v8_job, cores),
    HM_FIELD(v8_job, cgroup), HM_FIELD(v8_job, home_cgroup), HM_FIELD_GROUP_OF(v8_job, monitor, process_table),
    HM_FIELD_GROUP_OF(v8_job, finisher, process_table), HM_FIELD(v8_job, has_ended), HM_FIELD(v8_job, end_ns),
    HM_FIELD(v8_job, dead_ns), HM_FIELD(v8_job, has_plan), HM_FIELD_GROUP_OF(v8_job, plan, plan_table),
    HM_FIELD(v8_job, memory_peak), HM_FIELD(v8_job, n_steps),
    HM_FIELD_LIST(v8_job, step, HM_COUNTED_BY(v8_job, n_steps), .may_exceed = true), HM_FIELD(v8_job, has_exit_status),
    HM_FIELD(v8_job, exit_status_is_final), HM_FIELD(v8_job, exit_status),
    HM_FIELD_GROUPS(v8_job, migrator, migrator_table), HM_FIELD_GROUP_OF(v8_job, migration, migration_table),
    HM_FIELD(v8_job, has_taken), HM_FIELD(v8_job, taken_step),
    HM_FIELD_GROUP_OF(v8_job, namespaces, namespaces_table), HM_FIELD_GROUP_OF(v8_job, mongroup, mongroup_table),
    HM_FIELD(v8_job, n_changes), HM_FIELD_GROUPS(v8_job, change, change_table, HM_COUNTED_BY(v8_job, n_changes)),
    HM_FIELD(v8_job, n_warnings), HM_FIELD_LIST(v8_job, warning, HM_COUNTED_BY(v8_job, n_warnings)), {.name = NULL},
};
/* clang-format on */

static const struct hm_fields fields = {.title = "job", .table = job_table, .most = HM_ENTRY_MOST};

_Static_assert(sizeof(struct v8_job) == 58248, "the frozen structure is not as it was");

bool hm_entryv8_is(const char *content, size_t length)
{
    const uint32_t marks[] = {MAGIC, VERSION, sizeof(struct v8_job)};
    return length == sizeof(struct v8_job) && memcmp(content, marks, sizeof(marks)) == 0;
}

int hm_entryv8_format(char *content, char *out, struct hm_error *error)
{
    struct v8_request *request = &((struct v8_job *)(void *)content)->plan.request;
    if (request->kind > KINDS)
        return hm_fail(error, EBADMSG, "plan.request.kind is out of range");
    if (request->mode == FAST && request->kind > 0)
        request->mode = FIRST_KIND + request->kind - 1;
    if (hm_fields_check(fields.table, content, error) != 0)
        return -1;
    return hm_fields_format(&fields, content, NULL, out, error) < 0 ? -1 : 0;
}
