/* SPDX-License-Identifier: Apache-2.0 */
#include "damoncaps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Is a /proc in sight mounted with hidepid= (and not hidepid=0)? */
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

int hm_damon_caps_drop(struct hm_error *error)
{
    uint64_t keep = UINT64_C(1) << CAP_PERFMON | UINT64_C(1) << CAP_IPC_LOCK;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (proc_hides())
        keep |= UINT64_C(1) << CAP_SYS_PTRACE;
    for (int c = 0; c < 2; c++) {
        data[c].permitted = data[c].effective = (uint32_t)(keep >> (32 * c));
        data[c].inheritable = 0;
    }
    for (unsigned long capability = 0; capability <= 63; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL)
            return hm_fail_errno(error, "cannot drop capability %lu", capability);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &header, data) != 0)
        return hm_fail_errno(error, "cannot drop capabilities");
    return 0;
}
