/* SPDX-License-Identifier: Apache-2.0 */
#include "aside.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/size.h"
#include "ledger.h"
#include "slurm/stepcgroup.h"

#define MOST_TEXT 4096 /* of /proc/self/cgroup */
/* A job whose limit leaves less than this, or less than an eighth of the limit, has little memory. A job with more may
 * still fill it after this check. To exclude that, this process would have to be moved each time it takes the lock,
 * which costs some 10 ms. */
#define ROOM (64u << 20)

/* The root of the cgroups that count memory, with cgroup v1 and with v2. */
static const char v1[] = "/sys/fs/cgroup/memory", v2[] = "/sys/fs/cgroup";

/* Files of a cgroup, of v2 and then of v1: a limit, and what counts against it. */
static const struct bound {
    const char *limit, *used;
} bounds[] = {
    {"memory.max", "memory.current"},
    {"memory.high", "memory.current"}, /* above it, the kernel delays each call of the process */
    {"memory.limit_in_bytes", "memory.usage_in_bytes"},
    {"memory.memsw.limit_in_bytes", "memory.memsw.usage_in_bytes"}, /* with swap; Slurm's ConstrainSwapSpace */
};

static _Thread_local int back = -1; /* cgroup.procs of the cgroup that this process comes from */

/* Read a figure of the cgroup. Returns 0, or -1 where there is none, as where it is "max". */
static int read_figure(const char *folder, const char *name, uint64_t *figure)
{
    char path[HM_JOB_CGROUP + 32], text[32];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return hm_file_read(path, text, sizeof(text), NULL) == 0 ? hm_size_parse_number(text, 0, UINT64_MAX, figure, NULL)
                                                             : -1;
}

static bool is_short(const char *folder)
{
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
        uint64_t limit, used;
        if (read_figure(folder, bounds[i].limit, &limit) == 0 && read_figure(folder, bounds[i].used, &used) == 0 &&
            (used >= limit || limit - used < ROOM || limit - used < limit / 8))
            return true;
    }
    return false;
}

bool hm_aside_is_full(const char *folder)
{
    char at[HM_JOB_CGROUP], job[HM_JOB_CGROUP];
    hm_text_copy(at, folder, sizeof(at));
    hm_text_copy(job, folder, sizeof(job));
    if (hm_cgroup_cut_to_job(job) != 0)
        return false;
    while (strlen(at) >= strlen(job)) {
        if (is_short(at))
            return true;
        *strrchr(at, '/') = '\0';
    }
    return false;
}

/* Is "memory" one of the controllers "cpu,memory:/..."? */
static bool has_memory(const char *controllers)
{
    size_t length;
    for (; *controllers != ':' && *controllers; controllers += length + (controllers[length] == ',')) {
        length = strcspn(controllers, ",:");
        if (length == strlen("memory") && strncmp(controllers, "memory", length) == 0)
            return true;
    }
    return false;
}

const char *hm_aside_find(const char *text, char *folder, size_t size)
{
    const char *root = NULL, *found = NULL;
    /* Lines are "ID:CONTROLLERS:PATH"; that of v2 is "0::PATH", also beside controllers of v1. */
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        bool is_v1 = path && has_memory(controllers + 1);
        if (!is_v1 && (!path || root == v1 || strncmp(line, "0::", 3) != 0))
            continue;
        root = is_v1 ? v1 : v2;
        found = path + 1;
    }
    if (!root)
        return NULL;
    int length = snprintf(folder, size, "%s%.*s", root, (int)strcspn(found, "\n"), found);
    return length >= 0 && (size_t)length < size ? root : NULL;
}

static int move_to(int procs)
{
    return write(procs, "0", 1) == 1 ? 0 : -1;
}

void hm_aside_begin(void)
{
    char text[MOST_TEXT], folder[HM_JOB_CGROUP], path[HM_JOB_CGROUP + 16];
    if (hm_file_read_start("/proc/self/cgroup", text, sizeof(text)) != 0)
        return;
    const char *top = hm_aside_find(text, folder, sizeof(folder));
    if (!top || !hm_aside_is_full(folder))
        return;
    snprintf(path, sizeof(path), "%s/cgroup.procs", top);
    int root = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
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
