/* SPDX-License-Identifier: Apache-2.0 */
#include "entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bootid.h"
#include "base/clock.h"
#include "base/fit.h"

void hm_job_init(struct hm_job *job, uint32_t job_id)
{
    memset(job, 0, sizeof(*job));
    job->job_id = job_id;
    job->array_job_id = job->array_task_id = job->het_job_id = HM_NO_ID;
    hm_dax_clear(&job->namespaces);
    hm_migration_clear(&job->migration);
    job->fair_weight = 1;
    job->start_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME);
    hm_boot_id(job->boot_id, sizeof(job->boot_id));
}

int hm_entry_parse(char *content, size_t length, const struct hm_fields *part, struct hm_job *job,
                   struct hm_error *error)
{
    hm_job_init(job, 0);
    return strlen(content) == length ? hm_fields_parse(part, content, job, error)
                                     : hm_fail(error, EBADMSG, "it is torn");
}

/* Is `before` the entry of the same run of the job? Each run has another start. */
static bool is_same_run(const struct hm_job *job, const char *before)
{
    char line[32];
    const char *start = hm_fields_find(before, "start_ns");
    int length = snprintf(line, sizeof(line), "%" PRId64 "\n", job->start_ns);
    return start && strncmp(start, line, (size_t)length) == 0;
}

ssize_t hm_entry_format(const struct hm_job *job, const char *before, char *out, struct hm_error *error)
{
    if (hm_fields_check(hm_job_fields.table, job, error) != 0)
        return -1;
    return hm_fields_format(&hm_job_fields, job, before && is_same_run(job, before) ? before : NULL, out, error);
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
    hm_fit_list(text, sizeof(text), format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < job->n_warnings; i++)
        if (strcmp(job->warning[i], text) == 0)
            return;
    if (job->n_warnings < HM_JOB_WARNINGS)
        memcpy(job->warning[job->n_warnings++], text, sizeof(text));
    else /* a user can cause any number of warnings, and those of the job's end come last */
        hm_fit(job->warning[HM_JOB_WARNINGS - 1], HM_WARNING, "others are left out; the last one: %s", text);
}
