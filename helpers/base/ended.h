/* SPDX-License-Identifier: Apache-2.0 */
/* How the end of a step is told to a process that watches it, and is no parent of its tasks: by the last bytes of a
 * file in memory that both have open. */
#ifndef HM_BASE_ENDED_H
#define HM_BASE_ENDED_H

#include <stdbool.h>

#define HM_ENDED_BYTES 16 /* at the end of the file; zeros before */

/* Is there room for it in the file, so that the end can be told? Else leaves errno. */
bool hm_ended_has_place(int fd);
/* Says that all has ended, with this status of wait(2). Returns 0, or -1 with errno. */
int hm_ended_tell(int fd, int status);
/* Has that been said? Sets the status then. */
bool hm_ended_is_told(int fd, int *status);

#endif
