/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows whether the calling thread holds a lock that all of a node's jobs wait for. Such a lock must be free again
 * within moments. So its holder does nothing that may take long, and starts no program: a program may be stopped, or
 * lie on a file system that hangs. Functions that may take long ask here first.
 */
#ifndef HM_BASE_HELDLOCK_H
#define HM_BASE_HELDLOCK_H

#include "error.h"

/* Call these after this thread has taken such a lock, and when it gives the lock back. It may hold several. */
void hm_heldlock_enter(void);
void hm_heldlock_leave(void);

/* Returns 0, or -1 (EDEADLK) with a text where this thread holds such a lock. `what` names what was
 * to be started or looked at, for the text. */
int hm_heldlock_check(const char *what, struct hm_error *error);

#endif
