/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what has to be done so that a node comes back from its next boot in another mode, or why it must not. Pure.
 */
#ifndef HM_MEMMODE_DECIDE_DECIDE_H
#define HM_MEMMODE_DECIDE_DECIDE_H

#include "state.h"

enum hm_memmode_step {
    HM_MEMMODE_STEP_REAP,   /* remove what dead jobs have left, and look at the state anew */
    HM_MEMMODE_STEP_DROP,   /* delete the pending goal, and read back that none is left */
    HM_MEMMODE_STEP_CREATE, /* create the goal, and read it back */
    HM_MEMMODE_STEPS
};

struct hm_memmode_steps {
    enum hm_memmode_step step[HM_MEMMODE_STEPS];
    int n; /* 0: nothing is to be done */
};

/*
 * Decide for a node in `state` that is to come back in the mode `wanted`: flat, cache or mixed. `is_reaped`: what dead
 * jobs left was removed before `state` was read, so namespaces of jobs are those of living ones. If REAP is a step, it
 * is the only one. Returns 0 with the steps, or -1 with a text: ENODEV (no modules), ENOTSUP (the firmware does not
 * allow it), EIO (a module is not healthy), EBUSY (somebody's data would be lost, or that
 * cannot be ruled out; or the site wants the node to keep its mode for longer).
 */
int hm_memmode_decide(const struct hm_memmode_state *state, enum hm_memmode wanted, bool is_reaped,
                      struct hm_memmode_steps *steps, struct hm_error *error);

/* Would nobody lose data if a goal were applied now? `is_reaped` is as above. Returns 0, or -1 (EBUSY) with a text that
 * names what may hold data. */
int hm_memmode_loses_nothing(const struct hm_memmode_state *state, bool is_reaped, struct hm_error *error);

/* Is the node refused the mode `wanted` for no fault of its own: for namespaces that are seen or at work on, or as it
 * has not kept its mode for long enough? Returns why, in a few words, or NULL. */
const char *hm_memmode_only_for_now(const struct hm_memmode_state *state, enum hm_memmode wanted);

#endif
