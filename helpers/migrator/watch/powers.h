/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two capabilities that a step's migrator keeps when it becomes the job's user: CAP_SYS_NICE, to move a page for
 * all who map it, and CAP_CHECKPOINT_RESTORE (Linux 5.9), to see who owns a file that a process has mapped, be it
 * deleted or without a name, and to read the code of a process from it. Neither is in effect except within the
 * functions below. A migrator without them moves only pages that one process alone maps.
 */
#ifndef HM_MIGRATOR_WATCH_POWERS_H
#define HM_MIGRATOR_WATCH_POWERS_H

#include <stdbool.h>
#include <sys/types.h>

#include "maps.h"

/*
 * Becomes the user as hm_privilege_drop() does, but keeps the two capabilities, as far as the caller has them. Root
 * keeps nothing apart: the files of root's are everybody's. Returns 0, or -1 with errno: the process has to end.
 */
int hm_powers_keep(uid_t uid, gid_t gid);
/*
 * Is it a plain file (or shared memory) of this process's user that process `pid` has mapped at `whole`, which must be
 * a whole mapping? False too where it cannot be found out. Asks no file server.
 */
bool hm_powers_owns(pid_t pid, struct hm_range whole);
/*
 * Opens the plain file that process `pid` has mapped at `whole`, which must be a whole mapping, to read it: with the
 * user's rights on the file, whatever its path is. A process without the power tries it with its own rights: root may.
 * Returns a descriptor, or -1 with errno (ENOENT: there is no such mapping; EPERM: the power is lacking).
 */
int hm_powers_open_mapped(pid_t pid, struct hm_range whole);
/*
 * move_pages(2) with MPOL_MF_MOVE_ALL. For pages of which hm_powers_owns() has just said that they are the user's: who
 * else maps them sees them move, and they may be in another place by now.
 */
long hm_powers_move_all(pid_t pid, unsigned long count, void **page, const int *node, int *status);

#endif
