/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <string.h>

#include "core/plan/table.h"
#include "core/request/keys.h"
#include "ledger.h"

static bool is_absolute(const void *path)
{
    return *(const char *)path == '/';
}

/* 0 means "no process". A negative pid would mean a group of processes, or all of them, to kill(2). */
static bool is_pid(const void *value)
{
    pid_t pid;
    memcpy(&pid, value, sizeof(pid));
    return pid >= 0;
}

const struct hm_field hm_process_table[] = {
    HM_FIELD(hm_process, pid, .is_right = is_pid),
    HM_FIELD(hm_process, start_time),
    {.name = NULL},
};

static const struct hm_field migrator_table[] = {
    HM_FIELD(hm_step_migrator, step_id),
    HM_FIELD_GROUP_OF(hm_step_migrator, process, hm_process_table),
    HM_FIELD_GROUP_OF(hm_step_migrator, starter, hm_process_table),
    {.name = NULL},
};

static const struct hm_field mongroup_table[] = {
    HM_FIELD(hm_mongroup, is_begun),
    HM_FIELD(hm_mongroup, restart),
    HM_FIELD(hm_mongroup, made_mono_ns),
    HM_FIELD(hm_mongroup, why),
    {.name = NULL},
};

/* Tasks write it. Not a number is no share either. */
static bool is_share(const void *value)
{
    double share;
    memcpy(&share, value, sizeof(share));
    return share >= 0 && share <= 1;
}

const struct hm_field hm_guided_table[] = {
    HM_FIELD(hm_guided, is_known),
    HM_FIELD(hm_guided, profile),
    HM_FIELD(hm_guided, packer),
    HM_FIELD(hm_guided, input),
    HM_FIELD(hm_guided, why),
    HM_FIELD(hm_guided, is_migrated),
    HM_FIELD(hm_guided, step_id),
    HM_FIELD(hm_guided, stale_sites),
    HM_FIELD(hm_guided, stale_found),
    HM_FIELD(hm_guided, fast_bytes),
    HM_FIELD(hm_guided, limit_bytes),
    HM_FIELD(hm_guided, expected_share, .is_right = is_share),
    HM_FIELD(hm_guided, is_online),
    HM_FIELD(hm_guided, decisions),
    HM_FIELD(hm_guided, promoted_bytes),
    HM_FIELD(hm_guided, demoted_bytes),
    HM_FIELD(hm_guided, seen_share, .is_right = is_share),
    HM_FIELD(hm_guided, samples),
    HM_FIELD(hm_guided, source),
    HM_FIELD(hm_guided, n_sites),
    HM_FIELD_LIST(hm_guided, site, HM_COUNTED_BY(hm_guided, n_sites), .may_exceed = true),
    {.name = NULL},
};

const struct hm_field hm_profiled_table[] = {
    HM_FIELD(hm_profiled, is_known),  HM_FIELD_WORDS(hm_profiled, method, hm_method_words),
    HM_FIELD(hm_profiled, plan),      HM_FIELD(hm_profiled, run),
    HM_FIELD(hm_profiled, file),      HM_FIELD(hm_profiled, why),
    HM_FIELD(hm_profiled, period),    HM_FIELD(hm_profiled, unrated),
    HM_FIELD(hm_profiled, unsampled), {.name = NULL},
};

const struct hm_field hm_change_table[] = {
    HM_FIELD(hm_change, path, .is_right = is_absolute),
    HM_FIELD(hm_change, before),
    HM_FIELD(hm_change, after),
    {.name = NULL},
};

static const struct hm_field job_table[] = {
    HM_FIELD(hm_job, job_id),
    HM_FIELD(hm_job, restart),
    HM_FIELD(hm_job, array_job_id),
    HM_FIELD(hm_job, array_task_id),
    HM_FIELD(hm_job, array_is_told),
    HM_FIELD(hm_job, het_job_id),
    HM_FIELD(hm_job, uid),
    HM_FIELD(hm_job, gid),
    HM_FIELD(hm_job, user),
    HM_FIELD(hm_job, account),
    HM_FIELD(hm_job, partition),
    HM_FIELD(hm_job, cluster),
    HM_FIELD(hm_job, node),
    HM_FIELD(hm_job, request),
    HM_FIELD(hm_job, request_is_default),
    HM_FIELD(hm_job, refusal),
    HM_FIELD(hm_job, is_entered),
    HM_FIELD(hm_job, recorded),
    HM_FIELD(hm_job, start_ns),
    HM_FIELD(hm_job, end_s),
    HM_FIELD(hm_job, boot_id),
    HM_FIELD(hm_job, fair_weight),
    HM_FIELD(hm_job, had_company),
    HM_FIELD(hm_job, has_strangers),
    HM_FIELD(hm_job, has_cores),
    HM_FIELD(hm_job, cores),
    HM_FIELD(hm_job, cgroup),
    HM_FIELD(hm_job, home_cgroup),
    HM_FIELD_GROUP_OF(hm_job, prolog, hm_process_table),
    HM_FIELD_GROUP_OF(hm_job, monitor, hm_process_table),
    HM_FIELD_GROUP_OF(hm_job, monitor_starter, hm_process_table),
    HM_FIELD_GROUP_OF(hm_job, finisher, hm_process_table),
    HM_FIELD(hm_job, has_ended),
    HM_FIELD(hm_job, end_ns),
    HM_FIELD(hm_job, dead_ns),
    HM_FIELD(hm_job, dead_boot_ns),
    HM_FIELD(hm_job, has_plan),
    HM_FIELD_GROUP_OF(hm_job, plan, hm_plan_table),
    HM_FIELD(hm_job, memory_peak),
    HM_FIELD(hm_job, peak_before),
    HM_FIELD(hm_job, n_steps),
    HM_FIELD_LIST(hm_job, step, HM_COUNTED_BY(hm_job, n_steps), .may_exceed = true),
    HM_FIELD(hm_job, has_exit_status),
    HM_FIELD(hm_job, exit_status_is_final),
    HM_FIELD(hm_job, exit_status),
    HM_FIELD_GROUPS(hm_job, migrator, migrator_table),
    HM_FIELD_GROUP_OF(hm_job, migration, hm_migration_table),
    HM_FIELD(hm_job, has_taken),
    HM_FIELD(hm_job, taken_step),
    HM_FIELD_GROUP_OF(hm_job, namespaces, hm_dax_table),
    HM_FIELD_GROUP_OF(hm_job, mongroup, mongroup_table),
    HM_FIELD_GROUP_OF(hm_job, guided, hm_guided_table),
    HM_FIELD_GROUP_OF(hm_job, profiled, hm_profiled_table),
    HM_FIELD(hm_job, n_changes),
    HM_FIELD_GROUPS(hm_job, change, hm_change_table, HM_COUNTED_BY(hm_job, n_changes)),
    HM_FIELD(hm_job, n_warnings),
    HM_FIELD_LIST(hm_job, warning, HM_COUNTED_BY(hm_job, n_warnings)),
    {.name = NULL},
};

const struct hm_fields hm_job_fields = {.title = "job", .table = job_table, .most = HM_ENTRY_MOST};
