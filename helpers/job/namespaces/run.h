/* SPDX-License-Identifier: Apache-2.0 */
/* Running hybridmem-namespace to its end, and what it says. */
#ifndef HM_JOB_NAMESPACES_RUN_H
#define HM_JOB_NAMESPACES_RUN_H

#include <stdbool.h>

#include "base/error.h"

#define HM_NAMESPACERUN_NAME "hybridmem-namespace"
#define HM_NAMESPACERUN_CREATE "create"
#define HM_ANSWER_OUTPUT 16384
/* Its exit statuses: it has refused, or failed and left nothing; was told wrong words; something is in use; the limit
 * has passed; something is left that could not be removed. */
#define HM_ANSWER_REFUSED 1
#define HM_ANSWER_USAGE 2
#define HM_ANSWER_BUSY 3
#define HM_ANSWER_LATE 4
#define HM_ANSWER_LEFT 5

struct hm_answer {
    int status; /* of wait(2), -1: not known */
    double seconds;
    char output[HM_ANSWER_OUTPUT];
    char errors[HM_ERROR_TEXT]; /* the last line, without the program's name */
};

/*
 * Run it with these words (NULL-terminated, its name first). create is killed when we are: it may wait long, and what
 * it makes behind our end would be behind the job's epilog, too. What gives memory back goes on. Returns 0 with the
 * answer, or -1 where it did not run (ENOENT: it is not installed).
 */
int hm_namespacerun(const char *const *words, struct hm_answer *answer, struct hm_error *error);

/* Did it end by itself with this code? */
bool hm_answer_is(const struct hm_answer *answer, int code);

/* What it said where it failed, else how it ended. Returns -1 (EBUSY: something is in use, another try may do;
 * ETIME: the limit has passed, another try goes on; ENOTRECOVERABLE: something is left that could not be removed).
 */
int hm_answer_fail(const struct hm_answer *answer, struct hm_error *error);

#endif
