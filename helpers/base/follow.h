/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a program and reads its log meanwhile, with a limit of time. */
#ifndef HM_BASE_FOLLOW_H
#define HM_BASE_FOLLOW_H

#include <sys/types.h>

/* Takes one line, without its newline. Returns 0, or a new limit: in how many milliseconds from now the child is to be
 * killed. */
typedef int hm_follow_line(const char *line);

/*
 * Hands on each line that the child writes to the pipe that `fd` reads, until the child ends. Then `fd` is closed, also
 * where another process still has the other end. The child is killed after `patience_ms`, or at the limit that `take`
 * has set last. A line of 1 KiB or more is handed on in parts.
 * Returns what hm_spawn_wait_for returns.
 */
int hm_spawn_follow(pid_t pid, int fd, int patience_ms, hm_follow_line *take);

#endif
