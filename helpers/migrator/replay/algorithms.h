/* SPDX-License-Identifier: Apache-2.0 */
/* The algorithms of the replay: ours, then those of other systems, which it alone offers (migrator/rivals). */
#ifndef HM_MIGRATOR_REPLAY_ALGORITHMS_H
#define HM_MIGRATOR_REPLAY_ALGORITHMS_H

#include "migrator/decide/decide.h"

/* As hm_algorithm_at(). */
bool hm_replay_algorithm_at(int n, const char **name, const char **about);

/* Is it one of another system? */
bool hm_replay_is_rival(const char *name);

/* As hm_decider_new(). */
struct hm_decider *hm_replay_decider(const struct hm_decider_options *options, struct hm_error *error);

#endif
