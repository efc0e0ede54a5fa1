/* SPDX-License-Identifier: Apache-2.0 */
#include "caps.h"

#include <cap-ng.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/files.h"

/*
 * Capabilities that this process keeps as long as it lives. Those in `at_times` are in effect only between raise and
 * lower.
 */
static int kept[3], n_kept, at_times[3], n_at_times;

/*
 * Is a /proc mounted with hidepid= (other than 0 or off)? The mounts are read without libmount: a process that keeps
 * privileges for its whole life links few libraries.
 */
static bool proc_hides(void)
{
    char line[4096];
    bool hides = false;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    while (mounts && fgets(line, sizeof(line), mounts)) {
        const char *found = strstr(line, "hidepid=");
        hides =
            hides || (found && strstr(line, " /proc proc ") && found[8] != '0' && strncmp(found + 8, "off", 3) != 0);
    }
    if (mounts)
        fclose(mounts);
    return hides;
}

static bool perf_wants_admin(void)
{
    char text[16];
    int64_t level = 0;
    return hm_file_read("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text), NULL) == 0 &&
           sscanf(text, "%" SCNd64, &level) == 1 && level > 2;
}

/* Gives the process the capabilities that it keeps, and permits those that it has at times. */
static int set(void)
{
    capng_clear(CAPNG_SELECT_ALL);
    for (int i = 0; i < n_kept; i++)
        if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, (unsigned)kept[i]) != 0)
            return -1;
    for (int i = 0; i < n_at_times; i++)
        if (capng_update(CAPNG_ADD, CAPNG_PERMITTED, (unsigned)at_times[i]) != 0)
            return -1;
    return capng_apply(CAPNG_SELECT_ALL) == 0 ? 0 : -1;
}

int hm_damon_caps_drop(bool finds_frames, struct hm_error *error)
{
    bool hides = proc_hides();
    kept[n_kept++] = CAP_PERFMON;
    kept[n_kept++] = CAP_IPC_LOCK;
    if (hides)
        kept[n_kept++] = CAP_SYS_PTRACE;
    if (perf_wants_admin() || finds_frames)
        at_times[n_at_times++] = CAP_SYS_ADMIN;
    if (finds_frames)
        at_times[n_at_times++] = CAP_DAC_READ_SEARCH;
    if (finds_frames && !hides)
        at_times[n_at_times++] = CAP_SYS_PTRACE;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || set() != 0)
        return hm_fail_errno(error, "cannot drop capabilities");
    return 0;
}

static void change(capng_act_t act)
{
    int result = 0;
    for (int i = 0; i < n_at_times; i++)
        result |= capng_update(act, CAPNG_EFFECTIVE, (unsigned)at_times[i]);
    if (n_at_times > 0 && result == 0)
        capng_apply(CAPNG_SELECT_CAPS);
}

void hm_damon_caps_raise(void)
{
    change(CAPNG_ADD);
}

void hm_damon_caps_lower(void)
{
    int number = errno;
    change(CAPNG_DROP);
    errno = number;
}
