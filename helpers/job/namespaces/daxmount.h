/* SPDX-License-Identifier: Apache-2.0 */
/* A job's DAX file systems in the mount namespace of one of its tasks. */
#ifndef HM_JOB_NAMESPACES_DAXMOUNT_H
#define HM_JOB_NAMESPACES_DAXMOUNT_H

#include "job/ledger/dax.h"

/*
 * Give the calling process, a task's child of slurmstepd that still is root, a mount namespace of its own, and mount
 * the job's file systems there: what is mounted elsewhere still comes in, nothing goes out. A device that is on another
 * namespace by now, and a file system that is not really DAX, are errors. Does nothing where there are none. Returns 0
 * or -1.
 */
int hm_daxmount(const struct hm_config *config, uint32_t job_id, const struct hm_job_namespaces *namespaces,
                struct hm_error *error);

#endif
