/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at what may not answer. For example, a page fault of a process may wait for a file system of the user's. Then
 * files of this process in /proc cannot be read until the page comes. So a child process looks, and is killed when its
 * time is over.
 */
#ifndef HM_BASE_LOOK_H
#define HM_BASE_LOOK_H

#include <stddef.h>

/*
 * Call `look` in a child process, and wait for it at most `patience_ms`. `look` reads `question` and writes what it
 * finds into `found`, which has `size` bytes and begins with the caller's content. Afterwards the caller's `found` is
 * what `look` had written, also where it was killed half way. `look` returns 0, or an errno. Returns 0; or -1 with
 * errno: the one that `look` returned, ETIMEDOUT where the child was killed at the end of its time, EIO where another
 * signal ended it, or why there was no child or it could not be watched. Only for programs with one thread
 * (hm_spawn_call).
 */
int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms);

#endif
