/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a prolog or epilog (the hook) waits for its hybridmem-job (the program). The program ends itself after 60 s,
 * by alarm(2). It stops this clock while file systems are made, or memory is brought online or wiped, and writes a line
 * to its log that tells the hook to wait longer. A program that outlives the hook's limit is killed. If the kernel
 * holds it in a call, it is left behind.
 */
#ifndef HM_JOB_NAMESPACES_HOOKLIMIT_H
#define HM_JOB_NAMESPACES_HOOKLIMIT_H

#include <stdbool.h>

#include "core/config/config.h"

#define HM_HOOKLIMIT_OWN_S 60   /* after these seconds the program ends itself */
#define HM_HOOKLIMIT_FIRST_S 65 /* the hook's limit until the program tells it another one */
#define HM_HOOKLIMIT_STUCK_S 76 /* the longest that a hook takes where persistent memory has no part in it */

/* Starts the program's clock. */
void hm_hooklimit_begin(void);

/* Stops the clock and tells the hook. Returns the seconds that are left, for hm_hooklimit_resume. Where no clock runs,
 * nothing is told. */
unsigned hm_hooklimit_pause(const struct hm_config *config);
/* Lets the clock go on and tells the hook. errno is kept. */
void hm_hooklimit_resume(unsigned left_s);

/*
 * Is this line of the program's log for the hook? If so, sets `limit_s`: the hook is to kill the program in so many
 * seconds from now.
 */
bool hm_hooklimit_parse(const char *line, unsigned *limit_s);

/*
 * Returns how many seconds a prolog or epilog that works on persistent memory may take at most: some minutes more than
 * fsdax_wipe_limit, or more than a day where that is not set (Slurm's PrologEpilogTimeout is the limit then). Pure.
 */
unsigned hm_hooklimit_most_s(const struct hm_config *config);

/*
 * Returns by how many seconds Slurm's limits for prologs and epilogs have to be above fsdax_wipe_limit: for the work on
 * memory beside the wipes, and for what the program may do before and after it by its own clock. Pure.
 */
unsigned hm_hooklimit_margin_s(const struct hm_config *config);

#endif
