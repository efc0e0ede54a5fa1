/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the next message of a client may be read. A message that names hundreds of processes costs thousands of writes
 * to sysfs, and so does the end of their watch. So each such work is followed by three pauses, and all three must be
 * over: of the client; of its user, whatever connections they have or make; and of the broker.
 */
#ifndef HM_MIGRATOR_DAMON_BROKER_PAUSES_H
#define HM_MIGRATOR_DAMON_BROKER_PAUSES_H

#include "lease.h"

/* All times are of CLOCK_MONOTONIC, in ns. Begins as zeros. */
struct hm_damon_pauses {
    uint64_t until_ns; /* the broker's */
    struct {
        uid_t owner;
        uint64_t until_ns;
    } of_user[HM_DAMON_CLIENTS]; /* there are no more users at a time */
};

struct hm_damon_moment {
    uint64_t wall_ns, cpu_ns; /* CLOCK_MONOTONIC; CPU time of the broker */
};

struct hm_damon_moment hm_damon_moment(void);
/*
 * Sets the pauses of the user and of the broker after work for this user that began at `before`. The user's pause is 16
 * times as long as the CPU time of the work, so a user gets a sixteenth of a CPU at most. Where the work took longer
 * than its CPU time, as the broker has waited for the kernel, the user's pause is also at least 16 times as long as the
 * work, or 5 s if that is less. The broker's pause is as long as the CPU time: all users together get half of a CPU.
 * Where an earlier pause is not over, the CPU time's pause begins at its end, so that much work at once counts in full.
 * Root has no pause as a user.
 */
void hm_damon_pauses_charge(struct hm_damon_pauses *pauses, uid_t owner, const struct hm_damon_moment *before);
/* Leaves the rest of the client's own pause to its user, but 5 s at most: nobody gains by connecting anew. */
void hm_damon_pauses_leave(struct hm_damon_pauses *pauses, const struct hm_damon_lease *lease);
/* From when on the client's next message may be read. */
uint64_t hm_damon_pauses_turn(const struct hm_damon_pauses *pauses, const struct hm_damon_lease *lease);

#endif
