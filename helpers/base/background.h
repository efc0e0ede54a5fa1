/* SPDX-License-Identifier: Apache-2.0 */
/* A process that goes on in the background after the one that has started it, beside a program whose child it is not.
 */
#ifndef HM_BASE_BACKGROUND_H
#define HM_BASE_BACKGROUND_H

#include <stddef.h>
#include <sys/types.h>

#include "error.h"

/*
 * Runs in the child: prepares, and calls hm_background_ready or hm_background_fail. Returns the exit status of the
 * child.
 */
typedef int hm_background_run(void *data, int out);

/*
 * Starts it, and waits until it is ready. Signals that users send to all processes of a job, or that end it, leave it
 * time. Returns its pid with the line that it has said, or -1 with a text: that of hm_background_fail, if it was
 * called.
 */
pid_t hm_background_start(hm_background_run *run, void *data, char *line, size_t size, struct hm_error *error);

/* Says that it is ready, and from then on has no terminal. Returns 0, or -1: nobody waits for it any more. */
int hm_background_ready(int out, const char *line);
/* Says why it ends. */
void hm_background_fail(int out, const char *text);

#endif
