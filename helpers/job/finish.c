/* SPDX-License-Identifier: Apache-2.0 */
#include "finish.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../core/tierscache.h"
#include "changes.h"
#include "living.h"
#include "log.h"
#include "record.h"

#define MONITOR_PATIENCE_MS 2000

void hm_finish_undo(const struct hm_config *config, struct hm_job *job)
{
    struct hm_error error = {0};
    if (hm_changes_undo(config, job, &error) == 0)
        return;
    hm_log(HM_LOG_ERROR, "job %u: a setting was not restored: %s", job->job_id, error.text);
    hm_job_warn(job, "a setting was not restored: %s", error.text);
}

void hm_finish_stop_monitor(const struct hm_job *job)
{
    struct hm_error error = {0};
    if (hm_process_stop(&job->monitor, MONITOR_PATIENCE_MS, &error) != 0)
        hm_log(HM_LOG_ERROR, "job %u: its monitor was not stopped: %s", job->job_id, error.text);
}

/* Take the entry for ourselves and undo the job's changes. Returns 0, 1 where there is nothing to do, or -1. */
static int claim(const struct hm_config *config, uint32_t job_id, struct hm_job *job)
{
    struct hm_error error = {0};
    int result = -1;
    int lock = hm_ledger_lock(config, &error);
    if (lock < 0) {
        hm_log(HM_LOG_ERROR, "job %u: %s", job_id, error.text);
        return -1;
    }
    if (hm_ledger_read(config, job_id, job, &error) != 0) {
        result = errno == ENOENT ? 1 : -1;
    } else if (hm_process_is_running(&job->finisher)) {
        result = 1;
    } else {
        hm_finish_undo(config, job);
        hm_process_identify(getpid(), &job->finisher);
        result = hm_ledger_write(config, job, &error);
    }
    hm_ledger_unlock(lock);
    if (result < 0)
        hm_log(HM_LOG_ERROR, "%s", error.text);
    return result;
}

static void write_record(const struct hm_config *config, const struct hm_job *job)
{
    char path[HM_CONFIG_PATH_MAX + 32];
    struct hm_error error = {0};
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    snprintf(path, sizeof(path), "%s/topology", config->run_dir);
    bool has_tiers = tiers && hm_tierscache_read(path, &tiers->topology, NULL) == 0 &&
                     hm_tiers_group(&tiers->topology, config, tiers, NULL) == 0;
    hm_ledger_samples_path(config, job->job_id, path, sizeof(path));
    int result = hm_record_write(config, has_tiers ? tiers : NULL, job, path, hm_now_ns(), &error);
    if (result < 0)
        hm_log(HM_LOG_ERROR, "job %u: its record is lost: %s", job->job_id, error.text);
    else if (error.text[0])
        hm_log(HM_LOG_WARNING, "job %u: %s%s", job->job_id, result > 0 ? "its record is kept for later: " : "",
               error.text);
    free(tiers);
}

static int remove_entry(const struct hm_config *config, uint32_t job_id)
{
    struct hm_error error = {0};
    int lock = hm_ledger_lock(config, &error);
    int result = lock < 0 ? -1 : hm_ledger_remove(config, job_id, &error);
    hm_ledger_unlock(lock);
    if (result != 0)
        hm_log(HM_LOG_ERROR, "job %u: %s", job_id, error.text);
    return result;
}

int hm_finish_job(const struct hm_config *config, uint32_t job_id, const char *warning, const int *exit_status)
{
    struct hm_job *job = malloc(sizeof(*job));
    int result = job ? claim(config, job_id, job) : -1;
    if (result == 0) {
        if (warning)
            hm_job_warn(job, "%s", warning);
        if (exit_status) {
            job->exit_status = *exit_status;
            job->has_exit_status = job->exit_status_is_final = true;
        }
        /* Without the lock from here on: the record's folder may be a file system that hangs. */
        hm_finish_stop_monitor(job);
        if (job->recorded)
            write_record(config, job);
        result = remove_entry(config, job_id);
    }
    free(job);
    return result < 0 ? -1 : 0;
}
