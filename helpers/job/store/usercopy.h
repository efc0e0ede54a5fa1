/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's own copy of a record, <record_dir>/by-user/<uid>/<day>/<node>.jsonl. Root makes the user's folder. Only a
 * child process that has become the user writes in it: so no link or file of the user can make root write elsewhere, or
 * wait for long.
 */
#ifndef HM_JOB_STORE_USERCOPY_H
#define HM_JOB_STORE_USERCOPY_H

#include "base/error.h"
#include "store.h"

/*
 * Appends the line to `file` of the day; `n_same` as for hm_line_append. `records` is the open record folder. Does
 * nothing for root. Takes up to 4 s, whatever the user does to the child. Returns 0 or -1.
 */
int hm_usercopy_append(int records, const struct hm_store_key *key, const char *day, const char *file, const char *line,
                       size_t n_same, struct hm_error *error);

#endif
