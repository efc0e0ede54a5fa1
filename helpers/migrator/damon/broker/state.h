/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's state file: which kdamonds are its own, for the next broker if this one dies. It is text, as
 * base/fields.h says, so that brokers of different versions read each other's files. */
#ifndef HM_MIGRATOR_DAMON_BROKER_STATE_H
#define HM_MIGRATOR_DAMON_BROKER_STATE_H

#include <stdint.h>

#include "base/error.h"

struct hm_damon_owned {
    uint32_t n;    /* number of kdamonds; 0: none are ours */
    uint32_t mark; /* the value of update_us in our kdamonds, in microseconds */
};

/* Writes the file anew, for root alone. Returns 0, or -1 with a text. */
int hm_damon_state_write(const char *path, const struct hm_damon_owned *owned, struct hm_error *error);
/* Reads the file. Returns 0, or -1 if it is missing, is not root's, is damaged, is of another boot, or names no
 * kdamonds; then `owned` does not change. */
int hm_damon_state_read(const char *path, struct hm_damon_owned *owned);

#endif
