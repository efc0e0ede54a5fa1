/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a kdamond on over whole ranges of memory, which DAMON divides into regions by itself (tune.h). */
#ifndef HM_MIGRATOR_DAMON_BROKER_REGIONS_H
#define HM_MIGRATOR_DAMON_BROKER_REGIONS_H

#include <sys/types.h>

#include "base/error.h"
#include "migrator/damon/tune.h"
#include "migrator/damon/wire.h"
#include "state.h"

/*
 * Starts kdamond k on the given ranges of these processes. Kernels before 5.19 do not keep to the ranges: after about a
 * second they watch everything between the lowest and the highest mapping, except the two largest holes. Returns the
 * pid of the kdamond's thread, or -1 with a text.
 */
pid_t hm_damon_start(unsigned k, const struct hm_damon_owned *owned, const struct hm_damon_settings *settings,
                     const struct hm_damon_process *process, unsigned n_processes, struct hm_error *error);
/* Changes the settings of a running kdamond. Waits for the end of an aggregation. Returns 0, or -1 with a text. */
int hm_damon_change(unsigned k, const struct hm_damon_settings *settings, struct hm_error *error);

#endif
