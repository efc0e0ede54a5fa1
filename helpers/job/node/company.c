/* SPDX-License-Identifier: Apache-2.0 */
#include "company.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "job/ledger/living.h"

/* Marks both jobs unless the other one is over. Returns 0, or -1 if the other's entry could not be written. */
static int meet(const struct hm_config *config, struct hm_job *job, uint32_t other_id, struct hm_job *other,
                struct hm_error *error)
{
    if (hm_ledger_read(config, other_id, other, NULL) != 0) {
        job->had_company = job->had_company || errno != ENOENT;
        return 0;
    }
    if (hm_job_is_over(other))
        return 0;
    job->had_company = true;
    if (other->had_company)
        return 0;
    other->had_company = true;
    return hm_ledger_write(config, other, error);
}

int hm_company_note(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    uint32_t *ids = NULL;
    struct hm_job *other = malloc(sizeof(*other));
    int count =
        other ? hm_ledger_list(config, &ids, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    int result = count < 0 ? -1 : 0;
    for (int i = 0; i < count; i++)
        if (ids[i] != job->job_id && meet(config, job, ids[i], other, error) != 0)
            result = -1;
    job->had_company = job->had_company || job->has_strangers || result != 0;
    free(ids);
    free(other);
    return result;
}

/*
 * Goes through the other jobs that are not over, and are not marked as having strangers beside them. Marks them if
 * `is_locked`, as the caller has the lock then. Returns how many there are, or -1.
 */
static int pass(const struct hm_config *config, uint32_t job_id, bool is_locked, struct hm_error *error)
{
    uint32_t *ids = NULL;
    int found = 0;
    struct hm_job *other = malloc(sizeof(*other));
    int count =
        other ? hm_ledger_list(config, &ids, error) : hm_fail(error, ENOMEM, "no memory for the ledger's entry");
    for (int i = 0; i < count && found >= 0; i++) {
        if (ids[i] == job_id || hm_ledger_read(config, ids[i], other, NULL) != 0 || hm_job_is_over(other) ||
            other->has_strangers)
            continue;
        found++;
        other->had_company = other->has_strangers = true;
        if (is_locked && hm_ledger_write(config, other, error) != 0)
            found = -1;
    }
    free(ids);
    free(other);
    return count < 0 ? -1 : found;
}

int hm_company_pass(const struct hm_config *config, uint32_t job_id, struct hm_error *error)
{
    char folder[HM_CONFIG_PATH_MAX + 16];
    if (access(hm_ledger_folder_path(config, folder, sizeof(folder)), F_OK) != 0)
        return 0;
    int found = pass(config, job_id, false, error);
    if (found <= 0)
        return found;
    int lock = hm_ledger_lock(config, error);
    found = lock < 0 ? -1 : pass(config, job_id, true, error);
    hm_ledger_unlock(lock);
    return found < 0 ? -1 : 0;
}

bool hm_company_is_none(const struct hm_config *config, uint32_t job_id)
{
    uint32_t *ids = NULL;
    struct hm_job *other = malloc(sizeof(*other));
    int count = other ? hm_ledger_list(config, &ids, NULL) : -1;
    bool is_none = count >= 0;
    for (int i = 0; i < count && is_none; i++)
        if (ids[i] != job_id)
            is_none = hm_ledger_read(config, ids[i], other, NULL) == 0 && hm_job_is_over(other);
    free(ids);
    free(other);
    return is_none;
}

bool hm_company_is_alone(const struct hm_config *config, const struct hm_job *job)
{
    return !job->has_strangers && job->has_cores && job->usable_cores > 0 &&
           hm_set_count(&job->cores) >= job->usable_cores && hm_company_is_none(config, job->job_id);
}
