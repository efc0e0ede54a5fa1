/* SPDX-License-Identifier: Apache-2.0 */
#include "caps.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files.h"

#define BIT(capability) (UINT64_C(1) << (capability))

static uint64_t kept; /* permitted for as long as this process lives */

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

static bool perf_wants_admin(void)
{
    char text[16];
    int64_t level = 0;
    return hm_file_read("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text), NULL) == 0 &&
           sscanf(text, "%" SCNd64, &level) == 1 && level > 2;
}

static int set(uint64_t permitted, uint64_t effective)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    for (int c = 0; c < 2; c++)
        data[c] = (struct __user_cap_data_struct){.permitted = (uint32_t)(permitted >> (32 * c)),
                                                  .effective = (uint32_t)(effective >> (32 * c))};
    return (int)syscall(SYS_capset, &header, data);
}

int hm_damon_caps_drop(struct hm_error *error)
{
    kept = BIT(CAP_PERFMON) | BIT(CAP_IPC_LOCK);
    if (proc_hides())
        kept |= BIT(CAP_SYS_PTRACE);
    if (perf_wants_admin())
        kept |= BIT(CAP_SYS_ADMIN);
    for (unsigned long capability = 0; capability <= 63; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0 && errno != EINVAL)
            return hm_fail_errno(error, "cannot drop capability %lu", capability);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        set(kept, kept & ~BIT(CAP_SYS_ADMIN)) != 0)
        return hm_fail_errno(error, "cannot drop capabilities");
    return 0;
}

void hm_damon_caps_raise(void)
{
    set(kept, kept);
}

void hm_damon_caps_lower(void)
{
    int number = errno;
    set(kept, kept & ~BIT(CAP_SYS_ADMIN));
    errno = number;
}
