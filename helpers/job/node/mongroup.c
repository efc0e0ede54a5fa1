/* SPDX-License-Identifier: Apache-2.0 */
#include "mongroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "job/ledger/log.h"
#include "mongroupname.h"
#include "slurm/stepname.h"

#define MODE 0700 /* the kernel's default would let everybody see which tasks are in a group, and their traffic */
#define FEATURES "info/L3_MON/mon_features"

char *hm_mongroup_path(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group, char *out)
{
    char name[HM_MONGROUP_NAME];
    snprintf(out, HM_MONGROUP_PATH, "%s/" HM_MONGROUP_FOLDER "/%s", config->resctrl_dir,
             hm_mongroup_name(job_id, group->restart, name));
    return out;
}

bool hm_mongroup_is_whole(const struct hm_mongroup *group)
{
    return group->is_begun && !group->why[0];
}

int hm_mongroup_folder(const struct hm_config *config, bool *is_reached)
{
    char path[HM_MONGROUP_PATH];
    struct stat status;
    snprintf(path, sizeof(path), "%s/" HM_MONGROUP_FOLDER, config->resctrl_dir);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    *is_reached = folder >= 0 && (fstat(folder, &status) != 0 || (status.st_mode & HM_FOLDER_USERS) != 0);
    return folder;
}

int hm_mongroup_open(const struct hm_config *config)
{
    bool is_reached;
    int folder = hm_mongroup_folder(config, &is_reached);
    if (folder < 0 || !is_reached)
        return folder;
    close(folder);
    errno = EACCES;
    return -1;
}

int hm_mongroup_check(const struct hm_config *config, struct hm_error *error)
{
    char path[HM_MONGROUP_PATH], text[1024];
    snprintf(path, sizeof(path), "%s/" FEATURES, config->resctrl_dir);
    if (hm_file_read(path, text, sizeof(text), NULL) != 0)
        return hm_fail(error, errno, "%.80s: %s (resctrl is not mounted, or monitors nothing)", path, strerror(errno));
    if (!strstr(text, "mbm_"))
        return hm_fail(error, ENODEV, "%.80s: no mbm_: the processor counts no memory traffic", path);
    return 0;
}

static int make_folder(const struct hm_config *config, const char *name, struct hm_error *error)
{
    static const struct {
        int number;
        const char *means;
    } known[] = {
        {EACCES, "users reach the folder " HM_MONGROUP_FOLDER ", and can hold up whoever makes a group (chmod 0700)"},
        {EEXIST, "a group of its name is left from an earlier run"},
        {ENOSPC, "all of the processor's monitoring ids (RMIDs, see info/L3_MON/num_rmids) are in use"},
        {EBUSY, "all free monitoring ids (RMIDs) of the processor still have data in its caches"},
    };
    int groups = hm_mongroup_open(config);
    int result = groups < 0 ? -1 : mkdirat(groups, name, MODE);
    int number = errno;
    if (groups >= 0)
        close(groups);
    if (result == 0)
        return 0;
    const char *means = strerror(number);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].number == number)
            means = known[i].means;
    return hm_fail(error, number, "no resctrl group: %s", means);
}

/* Number of steps before this one. The extern step is not counted, as it has no tasks. */
static uint32_t earlier_steps(const struct hm_job *job, uint32_t step_id)
{
    return job->n_steps - (step_id != HM_STEP_EXTERN && job->n_steps > 0 ? 1 : 0);
}

void hm_mongroup_make(const struct hm_config *config, struct hm_job *job, uint32_t step_id)
{
    struct hm_error error = {0};
    struct hm_mongroup *group = &job->mongroup;
    char name[HM_MONGROUP_NAME];
    if (!config->resctrl || group->is_begun || group->why[0])
        return;
    if (earlier_steps(job, step_id) > 0)
        hm_fail(&error, EALREADY, "steps ran before the job's record began");
    else if (hm_mongroup_check(config, &error) == 0) {
        *group = (struct hm_mongroup){
            .is_begun = true, .restart = job->restart, .made_mono_ns = hm_clock_ns(CLOCK_MONOTONIC)};
        if (hm_ledger_write(config, job, &error) != 0 ||
            make_folder(config, hm_mongroup_name(job->job_id, group->restart, name), &error) != 0)
            group->is_begun = false;
    }
    hm_text_copy(group->why, error.text, sizeof(group->why));
}

static int check_own_groups(const char *name, struct hm_error *error)
{
    char text[1024];
    if (hm_file_read(HM_MONGROUP_OWN, text, sizeof(text), NULL) != 0)
        return hm_fail(error, errno, "the resctrl groups of its tasks are not known: " HM_MONGROUP_OWN ": %s",
                       strerror(errno));
    return hm_mongroup_own_check(text, name, error);
}

int hm_mongroup_enter(const struct hm_config *config, uint32_t job_id, const struct hm_mongroup *group,
                      struct hm_error *error)
{
    char name[HM_MONGROUP_NAME], path[HM_MONGROUP_PATH], tasks[HM_MONGROUP_PATH + 8], pid[16];
    if (check_own_groups(hm_mongroup_name(job_id, group->restart, name), error) != 0)
        return -1;
    snprintf(tasks, sizeof(tasks), "%s/tasks", hm_mongroup_path(config, job_id, group, path));
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    if (hm_file_write(tasks, pid, NULL) == 0)
        return 0;
    return hm_fail(error, errno, "a task could not enter the resctrl group %s: %s", name, strerror(errno));
}
