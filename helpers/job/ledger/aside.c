/* SPDX-License-Identifier: Apache-2.0 */
#include "aside.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/process.h"
#include "base/size.h"
#include "ledger.h"
#include "living.h"

#define ROOT "/sys/fs/cgroup/cgroup.procs"
/* A job whose limit leaves less than this, or less than an eighth of the limit, has little memory. It may fill the rest
 * after the look: only moving always would exclude that, which takes some 10 ms for each lock. */
#define ROOM (64u << 20)

static _Thread_local int back = -1; /* cgroup.procs of the cgroup that this process comes from */

/* Read a figure of the cgroup. Returns 0, or -1 where there is none, as where it is "max". */
static int read_figure(const char *folder, const char *name, uint64_t *figure)
{
    char path[HM_JOB_CGROUP + 32], text[32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return hm_file_read(path, text, sizeof(text), NULL) == 0 ? hm_size_parse_number(text, 0, UINT64_MAX, figure, NULL)
                                                             : -1;
}

bool hm_aside_is_full(const char *folder)
{
    char at[HM_JOB_CGROUP], job[HM_JOB_CGROUP];
    uint64_t limit, used;
    hm_text_copy(at, folder, sizeof(at));
    hm_text_copy(job, folder, sizeof(job));
    if (hm_cgroup_cut_to_job(job) != 0)
        return false;
    while (strlen(at) >= strlen(job)) {
        if (read_figure(at, "memory.max", &limit) == 0 && read_figure(at, "memory.current", &used) == 0 &&
            (used >= limit || limit - used < ROOM || limit - used < limit / 8))
            return true;
        *strrchr(at, '/') = '\0';
    }
    return false;
}

static int move_to(int procs)
{
    return write(procs, "0", 1) == 1 ? 0 : -1;
}

void hm_aside_begin(void)
{
    char folder[HM_JOB_CGROUP], path[HM_JOB_CGROUP + 16];
    if (hm_cgroup_of_self(folder, sizeof(folder)) != 0 || !hm_aside_is_full(folder))
        return;
    snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
    int root = open(ROOT, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    back = root < 0 ? -1 : open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (back >= 0 && move_to(root) != 0) {
        close(back);
        back = -1;
    }
    if (root >= 0)
        close(root);
}

void hm_aside_end(void)
{
    if (back < 0)
        return;
    /* A failure leaves slurmstepd outside of the job's cgroup, which harms nobody: it ends with the step. */
    (void)move_to(back);
    close(back);
    back = -1;
}
