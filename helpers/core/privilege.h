/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up root's rights for good. */
#ifndef HM_PRIVILEGE_H
#define HM_PRIVILEGE_H

#include <sys/types.h>

/*
 * Become uid and gid, without supplementary groups, and without a way back or to more (no_new_privs). Of the calling
 * thread alone, and safe after fork: for processes of one thread. Returns 0, or -1 with errno: the process may then be
 * half-way, and has to end.
 */
int hm_privilege_drop(uid_t uid, gid_t gid);

#endif
