/* SPDX-License-Identifier: Apache-2.0 */
#include "privilege.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNCHANGED (-1)

/* All functions of this file make plain system calls: libc's functions take locks, to change all threads of the
 * process. Here one thread is enough. */
int hm_privilege_drop(uid_t uid, gid_t gid)
{
    if (syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, gid, gid, gid) != 0 ||
        syscall(SYS_setresuid, uid, uid, uid) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (uid != 0 && syscall(SYS_setresuid, 0, 0, 0) == 0) {
        errno = EPERM;
        return -1;
    }
    return 0;
}

int hm_privilege_lower(uid_t uid, gid_t gid)
{
    return syscall(SYS_setgroups, 0, NULL) != 0 || syscall(SYS_setresgid, UNCHANGED, gid, UNCHANGED) != 0 ||
                   syscall(SYS_setresuid, UNCHANGED, uid, UNCHANGED) != 0
               ? -1
               : 0;
}

int hm_privilege_raise(void)
{
    return syscall(SYS_setresuid, UNCHANGED, 0, UNCHANGED) != 0 || syscall(SYS_setresgid, UNCHANGED, 0, UNCHANGED) != 0
               ? -1
               : 0;
}
