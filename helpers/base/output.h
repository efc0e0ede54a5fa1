/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a program's output: output that could not be written is an error, handled alike in all programs. */
#ifndef HM_BASE_OUTPUT_H
#define HM_BASE_OUTPUT_H

#define HM_OUTPUT_LOST 1 /* the exit status where output was lost */

/*
 * Flush standard output. `name` is the program's name, with which its errors begin. `result` is what printing returned:
 * negative where it failed, with errno. (Where it failed but stdout has no error, memory ran out.) Returns `status`.
 * Where output was lost, prints one line on standard error and returns HM_OUTPUT_LOST. Where the reader has gone, the
 * program ends by SIGPIPE, even if it ignores that signal.
 */
int hm_output_end(const char *name, int result, int status);

#endif
