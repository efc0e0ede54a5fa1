/* SPDX-License-Identifier: Apache-2.0 */
#include "entry.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/process.h"

#define MAGIC 0x484d4a31u
#define VERSION 9
#define IS_TEXT(array) (memchr((array), '\0', sizeof(array)) != NULL)

void hm_job_init(struct hm_job *job, uint32_t job_id)
{
    memset(job, 0, sizeof(*job));
    hm_entry_mark(job);
    job->job_id = job_id;
    job->array_job_id = job->array_task_id = job->het_job_id = HM_NO_ID;
    hm_dax_clear(&job->namespaces);
    job->start_ns = hm_now_ns();
    hm_boot_id(job->boot_id, sizeof(job->boot_id));
}

void hm_entry_mark(struct hm_job *job)
{
    job->magic = MAGIC;
    job->version = VERSION;
    job->bytes = sizeof(*job);
}

/* A bool from a file may hold any byte: compared as one, it would be undefined. */
static bool is_bool(const bool *value)
{
    unsigned char byte;
    memcpy(&byte, value, 1);
    return byte <= 1;
}

static bool are_keys(const struct hm_migrate_keys *keys)
{
    return (unsigned)keys->algorithm <= HM_ALGORITHM_BINS && IS_TEXT(keys->source) &&
           (unsigned)keys->hot_by <= HM_HOT_BY_WRITES;
}

const char *hm_entry_bad_plan(const struct hm_plan *plan)
{
    if ((unsigned)plan->request.mode >= HM_MODES || (unsigned)plan->request.socket > HM_SOCKET_REMOTE ||
        !IS_TEXT(plan->request.text))
        return "request";
    if ((unsigned)plan->policy > HM_POLICY_BIND_BALANCING)
        return "policy";
    if (!are_keys(&plan->request.migrate) || !are_keys(&plan->migration.keys) || !is_bool(&plan->migration.is_wanted))
        return "migration";
    if (!is_bool(&plan->has_weights) || !is_bool(&plan->must_set_weights))
        return "weights";
    if (!is_bool(&plan->fsdax.is_wanted) || !is_bool(&plan->fsdax.is_kept) || !is_bool(&plan->request.keep))
        return "fsdax";
    if (!IS_TEXT(plan->reason))
        return "reason";
    if (plan->n_warnings < 0 || plan->n_warnings > HM_MAX_WARNINGS)
        return "warnings";
    for (int i = 0; i < plan->n_warnings; i++)
        if (!IS_TEXT(plan->warning[i]))
            return "warnings";
    return NULL;
}

static const char *bad_list(const struct hm_job *job)
{
    if (job->n_changes > HM_JOB_CHANGES)
        return "changes";
    for (uint32_t i = 0; i < job->n_changes; i++) {
        const struct hm_change *change = &job->change[i];
        if (change->path[0] != '/' || !IS_TEXT(change->path) || !IS_TEXT(change->before) || !IS_TEXT(change->after))
            return "changes";
    }
    if (job->n_warnings > HM_JOB_WARNINGS)
        return "warnings";
    for (uint32_t i = 0; i < job->n_warnings; i++)
        if (!IS_TEXT(job->warning[i]))
            return "warnings";
    return NULL;
}

static const char *bad_field(const struct hm_job *job)
{
    if (job->magic != MAGIC || job->version != VERSION || job->bytes != sizeof(*job))
        return "version";
    if (!IS_TEXT(job->user) || !IS_TEXT(job->account) || !IS_TEXT(job->partition) || !IS_TEXT(job->cluster) ||
        !IS_TEXT(job->node))
        return "names";
    if (!IS_TEXT(job->request) || !IS_TEXT(job->refusal) || !is_bool(&job->request_is_default))
        return "request";
    if (!IS_TEXT(job->boot_id) || !IS_TEXT(job->cgroup) || !IS_TEXT(job->home_cgroup))
        return "cgroup";
    if (!is_bool(&job->recorded) || !is_bool(&job->had_company) || !is_bool(&job->has_ended) ||
        !is_bool(&job->has_cores) || !is_bool(&job->has_plan) || !is_bool(&job->has_exit_status) ||
        !is_bool(&job->exit_status_is_final) || !is_bool(&job->has_taken))
        return "flags";
    if (!is_bool(&job->mongroup.is_begun) || !IS_TEXT(job->mongroup.why))
        return "mongroup";
    const char *plan = job->has_plan ? hm_entry_bad_plan(&job->plan) : NULL;
    const char *migration = hm_migration_bad(&job->migration);
    const char *namespaces = hm_dax_bad(&job->namespaces);
    return plan ? plan : migration ? migration : namespaces ? namespaces : bad_list(job);
}

int hm_entry_check(const struct hm_job *job, struct hm_error *error)
{
    const char *field = bad_field(job);
    return field ? hm_fail(error, EBADMSG, "the ledger's entry of job %u: %s out of range", job->job_id, field) : 0;
}

void hm_job_add_step(struct hm_job *job, uint32_t step_id)
{
    uint32_t named = job->n_steps < HM_JOB_STEPS ? job->n_steps : HM_JOB_STEPS;
    for (uint32_t i = 0; i < named; i++)
        if (job->step[i] == step_id)
            return;
    if (named < HM_JOB_STEPS)
        job->step[named] = step_id;
    job->n_steps++;
}

void hm_job_warn(struct hm_job *job, const char *format, ...)
{
    char text[HM_WARNING];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < job->n_warnings; i++)
        if (strcmp(job->warning[i], text) == 0)
            return;
    if (job->n_warnings < HM_JOB_WARNINGS)
        memcpy(job->warning[job->n_warnings++], text, sizeof(text));
}
