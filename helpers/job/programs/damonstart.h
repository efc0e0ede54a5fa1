/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts hybridmem-damon, root's broker of kdamonds (DAMON's kernel threads), on demand, and cleans up after a broker
 * that died.
 */
#ifndef HM_JOB_PROGRAMS_DAMONSTART_H
#define HM_JOB_PROGRAMS_DAMONSTART_H

#include "core/config/config.h"

/* Writes <run_dir>/damon.sock, the broker's socket, into `out`, and returns `out`. */
char *hm_damon_socket_path(const struct hm_config *config, char *out, size_t size);

/*
 * Makes sure that a broker listens: starts one if none does. It runs in the cgroup `home_cgroup`, outside the job,
 * which it may outlive, and ends by itself when nobody has used it for a minute. A lock file lets only one of several
 * callers start it. A kernel without usable DAMON is no error here: the broker tells its clients. Waits up to 10 s each
 * for another process that is starting the broker, until the broker executes, and until it listens. Returns 0, or -1
 * with a text.
 */
int hm_damon_ensure(const struct hm_config *config, const char *home_cgroup, struct hm_error *error);

/*
 * Turns off kdamonds that a killed broker left running, unless a new broker has taken them over. Waits up to 10 s until
 * the program for this executes, and 6 s for its end, and leaves what is not done by then to the next reap. Failures
 * are logged.
 */
void hm_damon_reap(const struct hm_config *config);

#endif
