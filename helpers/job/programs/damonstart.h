/* SPDX-License-Identifier: Apache-2.0 */
/* Starting hybridmem-damon, root's broker of kdamonds, on demand, and clearing up after a dead one. */
#ifndef HM_JOB_PROGRAMS_DAMONSTART_H
#define HM_JOB_PROGRAMS_DAMONSTART_H

#include "core/config/config.h"

/* <run_dir>/damon.sock, the broker's socket. Returns `out`. */
char *hm_damon_socket_path(const struct hm_config *config, char *out, size_t size);

/*
 * Have a broker that listens: start one in the cgroup `home_cgroup` (outside of the job, which it outlives) unless one
 * does. Several may call it at once: a lock file lets one start it. It ends by itself when nobody has needed it for a
 * minute. That DAMON cannot be used is no error here: the broker tells its clients why. Waits for 10 s at most, twice
 * where another is starting it. Returns 0, or -1 with a text.
 */
int hm_damon_ensure(const struct hm_config *config, const char *home_cgroup, struct hm_error *error);

/* Turn off what a broker that was killed left running, if no other has taken it over. Waits for 6 s at most: what is
 * not done then is left to the next pass. Failures go to the log. */
void hm_damon_reap(const struct hm_config *config);

#endif
