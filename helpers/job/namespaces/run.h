/* SPDX-License-Identifier: Apache-2.0 */
/* Runs hybridmem-namespace to its end, and reads its answer. */
#ifndef HM_JOB_NAMESPACES_RUN_H
#define HM_JOB_NAMESPACES_RUN_H

#include <stdbool.h>

#include "base/error.h"

#define HM_NAMESPACERUN_NAME "hybridmem-namespace"
#define HM_NAMESPACERUN_CREATE "create"
#define HM_ANSWER_OUTPUT 16384
/* Exit statuses of hybridmem-namespace. */
#define HM_ANSWER_REFUSED 1 /* it refused, or failed; create has then left nothing behind */
#define HM_ANSWER_USAGE 2   /* it got wrong arguments */
#define HM_ANSWER_BUSY 3    /* something is in use */
#define HM_ANSWER_LATE 4    /* the time limit has passed, or the node is short of memory: for a later try */
#define HM_ANSWER_LEFT 5    /* something that could not be removed is left */

struct hm_answer {
    int status; /* of wait(2); -1: not known */
    double seconds;
    char output[HM_ANSWER_OUTPUT];
    char errors[HM_ERROR_TEXT]; /* the last line, without the program's name */
};

/*
 * Runs the program with these words (NULL-terminated, the program's name first). "create" is killed when the caller
 * dies: it may wait for long, and must not make something after the job's epilog. Other commands give memory back, or
 * bring it online, and go on. The wait has no limit: how long the program may take is in its own words (--patience,
 * --limit), and a wipe without --limit takes as long as the memory is large. Prologs and epilogs, which must end, have
 * the hook's limit (hooklimit.h): before this call, all callers tell the hook to wait longer (hm_hooklimit_pause).
 * `held` is a lock (its descriptor) that the program has, too, so that it does not end before the program does,
 * whatever becomes of the caller; -1: none. Returns 0 with the answer, or -1 if the program did not run (ENOENT: it is
 * not installed).
 */
int hm_namespacerun(const char *const *words, int held, struct hm_answer *answer, struct hm_error *error);

/* Did the program end by itself with this exit status? */
bool hm_answer_is(const struct hm_answer *answer, int code);

/*
 * Makes an error of what the program wrote to standard error, or of how it ended. Returns -1: EBUSY: something is in
 * use, try again; ETIME: the limit has passed, or the node is short of memory: the next try continues; ENOTRECOVERABLE:
 * something that could not be removed is left; EAGAIN: it was killed by SIGKILL; EIO: it failed in another way.
 */
int hm_answer_fail(const struct hm_answer *answer, struct hm_error *error);

#endif
