/* SPDX-License-Identifier: Apache-2.0 */
/* The end of what a program writes to its standard output: what finds no room there is an error, in all programs the
 * same. */
#ifndef HM_BASE_OUTPUT_H
#define HM_BASE_OUTPUT_H

#define HM_OUTPUT_LOST 1 /* exit status */

/*
 * Have all of it written. `name` is the program's, as its errors begin; `result` the printing's own, negative with
 * errno where it failed: where the stream has no error, that was for want of memory. Returns `status`, or
 * HM_OUTPUT_LOST with one line on standard error where a part is lost. Where the reader has gone, the program ends by
 * SIGPIPE, also one that has it ignored.
 */
int hm_output_end(const char *name, int result, int status);

#endif
