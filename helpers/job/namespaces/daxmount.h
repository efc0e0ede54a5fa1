/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts a job's DAX file systems in a mount namespace of one of its tasks. */
#ifndef HM_JOB_NAMESPACES_DAXMOUNT_H
#define HM_JOB_NAMESPACES_DAXMOUNT_H

#include "job/ledger/dax.h"

/*
 * Gives the calling process, a task that slurmstepd has forked and that is still root, a mount namespace of its own,
 * and mounts the job's file systems there. Later mounts of the host are seen in it; its own mounts are not seen
 * outside. Errors: a device that by now has other persistent memory (hm_dax_check_device), a file system without DAX.
 * Does nothing for a job without file systems. Returns 0 or -1.
 */
int hm_daxmount(const struct hm_config *config, uint32_t job_id, const struct hm_job_namespaces *namespaces,
                struct hm_error *error);

#endif
