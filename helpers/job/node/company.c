/* SPDX-License-Identifier: Apache-2.0 */
#include "company.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "job/ledger/hurry.h"
#include "job/ledger/living.h"
#include "job/ledger/others.h"
#include "job/ledger/table.h"

/* What tells whether a job is over (hm_job_is_over), and how it is marked. */
static const struct hm_field part_table[] = {
    HM_FIELD(hm_job, job_id),
    HM_FIELD(hm_job, boot_id),
    HM_FIELD(hm_job, had_company),
    HM_FIELD(hm_job, has_strangers),
    HM_FIELD(hm_job, has_ended),
    HM_FIELD(hm_job, end_ns),
    {.name = NULL},
};
static const struct hm_fields part = {.title = "job", .table = part_table, .most = HM_ENTRY_MOST};

/* Who comes to the node, and whom they meet. */
struct meeting {
    const struct hm_config *config;
    bool is_of_stranger; /* who comes gets no entry */
    bool only_looks;     /* marks nobody */
    bool had_company, has_failed;
    struct hm_error *error;
};

/* Marks the other job. The caller holds the lock. */
static int mark(const struct meeting *meeting, uint32_t id)
{
    int result = -1;
    struct hm_job *other = malloc(sizeof(*other));
    if (!other)
        return hm_fail(meeting->error, ENOMEM, "no memory for the ledger's entry");
    if (hm_ledger_read(meeting->config, id, other, meeting->error) == 0) {
        other->had_company = true;
        other->has_strangers = other->has_strangers || meeting->is_of_stranger;
        result = hm_ledger_write(meeting->config, other, meeting->error);
    }
    free(other);
    return result;
}

static bool meet(void *data, uint32_t id, const struct hm_job *other)
{
    struct meeting *meeting = data;
    if (!other)
        meeting->had_company = meeting->had_company || (errno != ENOENT && !meeting->is_of_stranger);
    if (!other || hm_job_is_over(other))
        return true;
    bool is_marked = meeting->is_of_stranger ? other->has_strangers : other->had_company;
    meeting->had_company = meeting->had_company || !meeting->is_of_stranger || !is_marked;
    if (!is_marked && !meeting->only_looks && mark(meeting, id) != 0)
        meeting->has_failed = true;
    return true;
}

int hm_company_note(const struct hm_config *config, struct hm_job *job, struct hm_error *error)
{
    struct meeting meeting = {.config = config, .error = error};
    int result = hm_ledger_visit_others(config, job->job_id, &part, meet, &meeting, error);
    if (meeting.has_failed)
        result = -1;
    job->had_company = job->had_company || job->has_strangers || meeting.had_company || result != 0;
    return result;
}

int hm_company_pass(const struct hm_config *config, uint32_t job_id, struct hm_error *error)
{
    char folder[HM_CONFIG_PATH_MAX + 16];
    struct meeting meeting = {.config = config, .is_of_stranger = true, .only_looks = true, .error = error};
    int result = 0;
    hm_hurry_begin();
    if (access(hm_ledger_folder_path(config, folder, sizeof(folder)), F_OK) == 0)
        result = hm_ledger_visit_others(config, job_id, &part, meet, &meeting, error);
    hm_hurry_end();
    if (result != 0 || !meeting.had_company)
        return result;
    meeting.only_looks = false;
    int lock = hm_ledger_lock(config, error);
    result = lock < 0 ? -1 : hm_ledger_visit_others(config, job_id, &part, meet, &meeting, error);
    hm_ledger_unlock(lock);
    return meeting.has_failed ? -1 : result;
}

/* Notes in `data`, a bool, that a job is not over, or may not be. */
static bool look(void *data, uint32_t id, const struct hm_job *other)
{
    bool *is_none = data;
    (void)id;
    *is_none = other && hm_job_is_over(other);
    return *is_none;
}

bool hm_company_is_none(const struct hm_config *config, uint32_t job_id)
{
    bool is_none = true;
    return hm_ledger_visit_others(config, job_id, &part, look, &is_none, NULL) == 0 && is_none;
}

bool hm_company_is_alone(const struct hm_config *config, const struct hm_job *job, uint32_t usable_cores)
{
    return !job->has_strangers && job->has_cores && usable_cores > 0 && hm_set_count(&job->cores) >= usable_cores &&
           hm_company_is_none(config, job->job_id);
}
