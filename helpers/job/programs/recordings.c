/* SPDX-License-Identifier: Apache-2.0 */
#include "recordings.h"

#include <unistd.h>

#include "base/heldfolder.h"
#include "base/spawn.h"
#include "job/ledger/log.h"

#define PATIENCE_MS 5000

/* Runs in the child. TMPDIR, which a recorder takes where /dev/shm cannot be, is not known here. */
static int sweep(void *unused)
{
    (void)unused;
    hm_heldfolder_sweep("/dev/shm");
    hm_heldfolder_sweep("/tmp");
    return 0;
}

void hm_recordings_remove(const struct hm_job *job)
{
    struct hm_error error = {0};
    bool was_profiled = job->profiled.is_known || hm_request_wants(&job->plan.request, HM_WANTS_PROFILE);
    if (!was_profiled || job->uid == 0) /* root's own jobs are not recorded */
        return;
    const struct hm_spawn_call call = {
        .run = sweep, .kept = -1, .drop = job->uid != geteuid(), .uid = job->uid, .gid = job->gid};
    pid_t pid = hm_spawn_call(&call, &error);
    int status = pid < 0 ? -1 : hm_spawn_wait_for(pid, PATIENCE_MS);
    if (status != 0)
        hm_log(HM_LOG_WARNING, "job %u: recordings may be left in /dev/shm: %s", job->job_id,
               pid < 0 ? error.text : "the process of its user that removes them was killed or failed");
}
