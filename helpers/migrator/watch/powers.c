/* SPDX-License-Identifier: Apache-2.0 */
#include "powers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <numaif.h> /* for its constants; libnuma is not linked */
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pagesize.h"
#include "base/privilege.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif
#define BIT(capability) (UINT64_C(1) << (capability))
#define POWERS (BIT(CAP_SYS_NICE) | BIT(CAP_CHECKPOINT_RESTORE))

static uint64_t kept; /* permitted to this process besides what its user may do */

/* Plain system calls: a process that keeps rights for its whole life links few libraries. */
static int set(uint64_t permitted, uint64_t effective)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {.effective = (uint32_t)effective, .permitted = (uint32_t)permitted},
        {.effective = (uint32_t)(effective >> 32), .permitted = (uint32_t)(permitted >> 32)}};
    return (int)syscall(SYS_capset, &head, data);
}

static int get_permitted(uint64_t *permitted)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    if (syscall(SYS_capget, &head, data) != 0)
        return -1;
    *permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    return 0;
}

int hm_powers_keep(uid_t uid, gid_t gid)
{
    uint64_t permitted;
    if (uid == 0)
        return hm_privilege_drop(uid, gid);
    if (get_permitted(&permitted) != 0 || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0 || hm_privilege_drop(uid, gid) != 0 ||
        set(permitted & POWERS, 0) != 0 || prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0) != 0)
        return -1;
    kept = permitted & POWERS;
    return 0;
}

static void name_mapped(pid_t pid, struct hm_range whole, char *path, size_t size)
{
    snprintf(path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, whole.first << hm_page_shift(),
             (whole.first + whole.n_pages) << hm_page_shift());
}

/* Looks at the mapped file, with the power to do so in effect. Returns 0, or -1 with errno (EINVAL: no plain file). */
static int look_at(const char *path, unsigned wanted, struct statx *status)
{
    wanted |= STATX_TYPE;
    if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, wanted, status) != 0)
        return -1;
    errno = EINVAL;
    return (status->stx_mask & wanted) == wanted && S_ISREG(status->stx_mode) ? 0 : -1;
}

bool hm_powers_owns(pid_t pid, struct hm_range whole)
{
    char path[96];
    struct statx status;
    if (!(kept & BIT(CAP_CHECKPOINT_RESTORE)) || set(kept, BIT(CAP_CHECKPOINT_RESTORE)) != 0)
        return false;
    name_mapped(pid, whole, path, sizeof(path));
    int result = look_at(path, STATX_UID, &status);
    set(kept, 0);
    return result == 0 && status.stx_uid == geteuid();
}

int hm_powers_open_mapped(pid_t pid, struct hm_range whole)
{
    char path[96];
    struct statx status;
    bool has_power = kept & BIT(CAP_CHECKPOINT_RESTORE) && set(kept, BIT(CAP_CHECKPOINT_RESTORE)) == 0;
    name_mapped(pid, whole, path, sizeof(path));
    int fd = look_at(path, 0, &status) == 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    int number = errno;
    if (has_power)
        set(kept, 0);
    errno = number;
    return fd;
}

long hm_powers_move_all(pid_t pid, unsigned long count, void **page, const int *node, int *status)
{
    if (!(kept & BIT(CAP_SYS_NICE)) || set(kept, BIT(CAP_SYS_NICE)) != 0) {
        errno = EPERM;
        return -1;
    }
    long result = syscall(SYS_move_pages, pid, count, page, node, status, MPOL_MF_MOVE_ALL);
    int number = errno;
    set(kept, 0);
    errno = number;
    return result;
}
