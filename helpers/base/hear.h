/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and keeps what it writes, with a limit of time. */
#ifndef HM_BASE_HEAR_H
#define HM_BASE_HEAR_H

#include <stddef.h>

#include "error.h"
#include "spawn.h"

/* What the program writes to one of its outputs: a terminated text of less than `size` bytes; what is longer is cut. */
struct hm_heard {
    char *text;
    size_t size; /* 1 or more */
};

/*
 * Starts the program, and reads all that it writes to its standard output and standard error, by pipes: a limit on the
 * size of files (`ulimit -f`) holds for files in memory, too. `output` and `errors` of `spawn` are not looked at. The
 * program is killed after `patience_ms`. Returns 0 with its wait(2) status in `status`, or what hm_spawn_wait_for
 * returned there (-1 with errno); or -1 with a text where it could not be started.
 */
int hm_spawn_hear(const struct hm_spawn *spawn, int patience_ms, struct hm_heard output, struct hm_heard errors,
                  int *status, struct hm_error *error);

#endif
