/* SPDX-License-Identifier: Apache-2.0 */
#include "fair.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/rundir.h"
#include "core/share/shares.h"
#include "job/ledger/hurry.h"

static char *path_of(const struct hm_config *config, char *out)
{
    return hm_rundir_node_path(config->run_dir, HM_SHARES_NAME, out, HM_FAIR_PATH);
}

const char *hm_fair_path(const struct hm_config *config, char *out)
{
    return config->fair_share == HM_FAIR_SHARE_NONE ? NULL : path_of(config, out);
}

int hm_fair_make(const struct hm_config *config, struct hm_error *error)
{
    char path[HM_FAIR_PATH];
    if (config->fair_share == HM_FAIR_SHARE_NONE)
        return 0;
    hm_hurry_begin();
    int folder = hm_rundir_open_node(config->run_dir, NULL, error);
    int result = folder < 0 ? -1 : hm_shares_make(path_of(config, path), error);
    int number = errno;
    if (folder >= 0)
        close(folder);
    errno = number;
    hm_hurry_end();
    return result;
}

/* By cores, a job whose cores Slurm does not tell counts as one with a single core. */
static uint64_t weight_of(const struct hm_config *config, const struct hm_job *job)
{
    bool is_by_cores = config->fair_share == HM_FAIR_SHARE_CORES && job->has_cores;
    return hm_most(job->fair_weight, 1) * hm_most(is_by_cores ? hm_set_count(&job->cores) : 1, 1);
}

int hm_fair_join(const struct hm_config *config, const struct hm_job *job, uint64_t cap_bytes, struct hm_error *error)
{
    char path[HM_FAIR_PATH];
    if (config->fair_share == HM_FAIR_SHARE_NONE)
        return 0;
    struct hm_shares *shares = hm_shares_map(path_of(config, path), error);
    if (!shares)
        return -1;
    int result = hm_shares_join(shares, job->job_id, weight_of(config, job),
                                cap_bytes > 0 ? cap_bytes : HM_SHARES_NO_CAP, error);
    hm_shares_unmap(shares);
    return result;
}

static bool has_migrator(const struct hm_job *job)
{
    for (int i = 0; i < HM_JOB_MIGRATORS; i++)
        if (hm_process_is_running(&job->migrator[i].process) || hm_process_is_running(&job->migrator[i].starter))
            return true;
    return false;
}

void hm_fair_leave(const struct hm_config *config, const struct hm_job *job)
{
    char path[HM_FAIR_PATH];
    struct hm_shares *shares = has_migrator(job) ? NULL : hm_shares_map(path_of(config, path), NULL);
    if (shares)
        hm_shares_leave(shares, job->job_id);
    hm_shares_unmap(shares);
}

static bool is_listed(const uint32_t *ids, int count, uint32_t job_id)
{
    for (int i = 0; i < count; i++)
        if (ids[i] == job_id)
            return true;
    return false;
}

void hm_fair_reap(const struct hm_config *config)
{
    char path[HM_FAIR_PATH];
    uint32_t *ids = NULL;
    struct hm_shares *shares = hm_shares_map(path_of(config, path), NULL);
    /* Of another version, or its maker was killed: no job could enter before the next boot. */
    if (!shares && errno == EBADMSG)
        unlink(path);
    int lock = shares ? hm_ledger_lock(config, NULL) : -1;
    int count = lock < 0 ? -1 : hm_ledger_list(config, &ids, NULL);
    for (int i = 0; count >= 0 && i < HM_SHARES_ROWS; i++)
        if (shares->row[i].job_id != 0 && !is_listed(ids, count, shares->row[i].job_id))
            hm_shares_leave(shares, shares->row[i].job_id);
    hm_ledger_unlock(lock);
    free(ids);
    hm_shares_unmap(shares);
}
