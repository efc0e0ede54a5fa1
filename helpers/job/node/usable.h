/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many cores of the node jobs can have, as slurmctld says (slurm/scontrol.h). The answer is kept in
 * <run_dir>/root/node/usable, for all jobs that follow, until slurmd starts: by then slurm.conf may have changed.
 */
#ifndef HM_JOB_NODE_USABLE_H
#define HM_JOB_NODE_USABLE_H

#include <stdint.h>

#include "core/config/config.h"

/*
 * Reads the answer that is kept for the node of this name. Where there is none, or the file cannot be believed, asks
 * slurmctld, and keeps the answer. After a question without an answer, slurmctld is not asked again for a minute. Do
 * not hold the ledger's lock. Returns 0, or -1 with a text: EAGAIN within that minute.
 */
int hm_usable_learn(const struct hm_config *config, const char *node, uint32_t *cores, struct hm_error *error);

/* Removes the file, if there is one. Makes nothing. */
void hm_usable_forget(const struct hm_config *config);

#endif
