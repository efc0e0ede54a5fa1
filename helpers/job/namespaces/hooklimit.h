/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a prolog or epilog waits for its hybridmem-job. The program ends itself after 60 s. Its clock stands still
 * while persistent memory is made, brought online or wiped, and only then the hook waits longer: the program tells it
 * so by lines in its log. A program that the kernel holds, so that its own clock cannot end it, is left behind.
 */
#ifndef HM_JOB_NAMESPACES_HOOKLIMIT_H
#define HM_JOB_NAMESPACES_HOOKLIMIT_H

#include <stdbool.h>

#include "core/config/config.h"

#define HM_HOOKLIMIT_OWN_S 60   /* after these seconds the program ends itself */
#define HM_HOOKLIMIT_FIRST_S 65 /* the hook's limit until the program tells it another one */

/* Starts the program's clock. */
void hm_hooklimit_begin(void);

/* Stops the clock and tells the hook. Returns the seconds that are left, for hm_hooklimit_resume. Where no clock runs,
 * nothing is told. */
unsigned hm_hooklimit_pause(const struct hm_config *config);
/* Lets the clock go on and tells the hook. errno is kept. */
void hm_hooklimit_resume(unsigned left_s);

/* Is this line of the program's log for the hook? Then `limit_s` is in how many seconds the program is to be killed. */
bool hm_hooklimit_parse(const char *line, unsigned *limit_s);

/* Returns the most seconds that prolog or epilog may take where they work on persistent memory: fsdax_wipe_limit and
 * some more, or a day where that is not set (Slurm's PrologEpilogTimeout is the limit then). Pure. */
unsigned hm_hooklimit_most_s(const struct hm_config *config);

#endif
