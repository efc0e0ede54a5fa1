/* SPDX-License-Identifier: Apache-2.0 */
#include "epilog.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fields.h"
#include "base/files.h"
#include "place.h"

#define MOST 256

struct epilog {
    int64_t end_ns; /* CLOCK_REALTIME */
    bool has_exit_status;
    int32_t exit_status;
};

static const struct hm_field table[] = {
    HM_FIELD(epilog, end_ns),
    HM_FIELD(epilog, has_exit_status),
    HM_FIELD(epilog, exit_status),
    {.name = NULL},
};

static const struct hm_fields fields = {.title = "epilog", .table = table, .most = MOST};

void hm_epilog_note_status(struct hm_job *job, int status)
{
    if (status == 0 && job->exit_status_is_final)
        return;
    job->exit_status = status;
    job->has_exit_status = job->exit_status_is_final = true;
}

char *hm_epilog_name(uint32_t job_id, char *out, size_t size)
{
    snprintf(out, size, "%u.epilog", job_id);
    return out;
}

int hm_epilog_leave(const struct hm_config *config, uint32_t job_id, const int *exit_status, struct hm_error *error)
{
    char text[MOST], name[24];
    const struct epilog epilog = {.end_ns = (int64_t)hm_clock_ns(CLOCK_REALTIME),
                                  .has_exit_status = exit_status != NULL,
                                  .exit_status = exit_status ? *exit_status : 0};
    ssize_t length = hm_fields_format(&fields, &epilog, NULL, text, error);
    int folder = length < 0 ? -1 : hm_place_open(config, error);
    if (folder < 0)
        return -1;
    hm_epilog_name(job_id, name, sizeof(name));
    (void)unlinkat(folder, name, 0);
    int file = hm_file_make(folder, name, text, (size_t)length);
    if (file < 0)
        hm_fail_errno(error, "cannot make %s", name);
    else
        close(file);
    close(folder);
    return file < 0 ? -1 : 0;
}

bool hm_epilog_has_come(const struct hm_config *config, uint32_t job_id)
{
    char folder[HM_CONFIG_PATH_MAX + 16], path[sizeof(folder) + 24];
    snprintf(path, sizeof(path), "%s/%u.epilog", hm_ledger_folder_path(config, folder, sizeof(folder)), job_id);
    return access(path, F_OK) == 0;
}

/* Returns true where the file is there and whole. */
static bool read_file(const struct hm_config *config, uint32_t job_id, struct epilog *epilog)
{
    char text[MOST], name[24];
    int folder = hm_place_open(config, NULL);
    if (folder < 0)
        return false;
    int file = hm_file_open_own(folder, hm_epilog_name(job_id, name, sizeof(name)));
    close(folder);
    ssize_t length = file < 0 ? -1 : hm_file_read_open(file, text, sizeof(text));
    if (file >= 0)
        close(file);
    return length >= 0 && strlen(text) == (size_t)length && hm_fields_parse(&fields, text, epilog, NULL) == 0;
}

bool hm_epilog_take(const struct hm_config *config, struct hm_job *job)
{
    struct epilog epilog = {.end_ns = 0};
    if (job->has_ended || !read_file(config, job->job_id, &epilog) || epilog.end_ns < job->start_ns)
        return false;
    job->has_ended = true;
    job->dead_ns = epilog.end_ns;
    if (job->dead_boot_ns == 0)
        job->dead_boot_ns = hm_clock_ns(CLOCK_BOOTTIME);
    if (epilog.has_exit_status)
        hm_epilog_note_status(job, epilog.exit_status);
    return true;
}

void hm_epilog_forget(const struct hm_config *config, uint32_t job_id)
{
    char name[24];
    int folder = hm_place_open(config, NULL);
    if (folder < 0)
        return;
    (void)unlinkat(folder, hm_epilog_name(job_id, name, sizeof(name)), 0);
    close(folder);
}
