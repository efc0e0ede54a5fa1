/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the user's program as if it were run alone: it has the terminal, the environment and all descriptors, gets the
 * signals that are sent to this process, and its end becomes that of this process. (base/spawn.h starts programs that
 * are to inherit nothing.)
 */
#ifndef HM_CLI_TRACE_PROGRAM_H
#define HM_CLI_TRACE_PROGRAM_H

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Looks for a program as a shell does: a name without a slash in PATH. Returns 0 and its path, or -1 with a text:
 * ENOENT, EACCES. */
int hm_program_find(const char *name, char path[PATH_MAX], struct hm_error *error);

struct hm_program {
    pid_t pid;
    int signals;     /* descriptor; becomes readable when hm_program_attend has something to do */
    sigset_t before; /* the signals that were blocked before the start, as they are for the program */
    bool has_ended;
    int status;   /* of wait(2), once it has ended */
    bool is_left; /* after its end, a signal that ends programs has come: nobody wants to wait for its children */
};

/* Starts the program, with descriptor `given` of this process, or none (-1), as descriptor `number`. Returns 0, or -1
 * with a text. */
int hm_program_start(struct hm_program *program, const char *path, char *const *arguments, int given, int number,
                     struct hm_error *error);
/* Passes signals on, and notices the end. */
void hm_program_attend(struct hm_program *program);
/* For a process that goes on after the end, or after a start that failed: it gets signals again as before the start, so
 * that the next program does, too. */
void hm_program_leave(struct hm_program *program);
/* Returns the program's exit status; where a signal has ended it, ends this process by the same signal. */
int hm_program_end(const struct hm_program *program);

#endif
