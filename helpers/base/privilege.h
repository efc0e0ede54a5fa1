/* SPDX-License-Identifier: Apache-2.0 */
/* Giving up root's rights: for good, or for a while. */
#ifndef HM_BASE_PRIVILEGE_H
#define HM_BASE_PRIVILEGE_H

#include <sys/types.h>

/*
 * Become uid and gid, without supplementary groups, and without a way back or to more (no_new_privs). Of the calling
 * thread alone, and safe after fork: for processes of one thread. Returns 0, or -1 with errno: the process may then be
 * half-way, and has to end.
 */
int hm_privilege_drop(uid_t uid, gid_t gid);

/*
 * Act as uid and gid, which is no more than a loan: root's rights are a call away. For what should be done with no more
 * rights than it needs before they are given up; not against code that is hostile. Supplementary groups are given up
 * for good. Of the calling thread alone. Returns 0, or -1 with errno: the process may then be half-way, and has to end.
 */
int hm_privilege_lower(uid_t uid, gid_t gid);

/* Be root again after hm_privilege_lower. Returns 0, or -1 with errno: the process has to end. */
int hm_privilege_raise(void);

#endif
