/* SPDX-License-Identifier: Apache-2.0 */
/* Gives up root's rights, for good or for a while. */
#ifndef HM_BASE_PRIVILEGE_H
#define HM_BASE_PRIVILEGE_H

#include <sys/types.h>

/*
 * Become uid and gid without supplementary groups, with no way back and no way to more rights (no_new_privs). Changes
 * the calling thread only, so it is meant for processes with one thread; safe after fork. Returns 0, or -1 with errno:
 * the process may then have only some of these changes, and has to end.
 */
int hm_privilege_drop(uid_t uid, gid_t gid);

/*
 * Act as uid and gid until hm_privilege_raise. Use it for work that needs few rights, before root's rights are given up
 * for good. It does not protect against hostile code, which can raise its rights again. Supplementary groups are given
 * up for good. Changes the calling thread only. Returns 0, or -1 with errno: the process may then have only some of
 * these changes, and has to end.
 */
int hm_privilege_lower(uid_t uid, gid_t gid);

/* Become root again after hm_privilege_lower. Returns 0, or -1 with errno: the process has to end. */
int hm_privilege_raise(void);

#endif
