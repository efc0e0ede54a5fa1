/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DAX file systems of a job: their part of the ledger's entry, and the folders at which the job's tasks see them,
 * <run_dir>/fsdax/JOB/SOCKET. These folders look empty outside the mount namespaces of the tasks.
 */
#ifndef HM_JOB_LEDGER_DAX_H
#define HM_JOB_LEDGER_DAX_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/fields.h"
#include "core/config/config.h"

#define HM_JOB_NAMESPACES HM_MAX_SOCKETS
#define HM_DAX_PATH (HM_CONFIG_PATH_MAX + 32)

struct hm_job_namespace {
    /* the namespace's label: "hybridmem:CLUSTER:JOB.RESTART.SOCKET" or "hybridmem:CLUSTER:uUID.MINUTE.SOCKET" */
    char name[64];
    char device[24]; /* "/dev/pmem0.1" */
    char fs[8];
    uint32_t socket;
    uint64_t bytes; /* what it takes from the region */
};

struct hm_job_namespaces {
    bool is_begun;                                   /* namespaces may exist under the job's number and `restart` */
    uint32_t restart;                                /* the restart count of the run that they were made for */
    uint32_t n;                                      /* number of usable ones in `each` */
    struct hm_job_namespace each[HM_JOB_NAMESPACES]; /* by ascending socket */
    double create_s, destroy_s;                      /* seconds, for all together; negative: not done */
    /* by `keep`: they belong to the user and outlive the job; no other job of the user has them at the same time */
    bool is_kept;
    int64_t kept_until_s; /* if kept: UNIX time at which they expire */
};

/* Sets the state of a job without file systems. */
void hm_dax_clear(struct hm_job_namespaces *namespaces);
/* The fields of struct hm_job_namespaces. */
extern const struct hm_field hm_dax_table[];

/*
 * Is the device still on the namespace? The device's name was noted when the namespace was made. If an administrator
 * disables and enables a region, the kernel numbers devices anew, and the name may then mean another job's memory.
 * Looks below `sysfs` (HM_SYSFS). Returns 0, or -1; ESTALE: the device is on another namespace.
 */
#define HM_SYSFS "/sys" /* where the kernel has sysfs */
int hm_dax_check_device(const char *sysfs, const struct hm_job_namespace *one, struct hm_error *error);

/* Writes <run_dir>/fsdax into `out` (HM_DAX_PATH bytes), and returns `out`, as the next two functions do. */
char *hm_dax_folder(const struct hm_config *config, char *out);
/* <run_dir>/fsdax/JOB */
char *hm_dax_job_folder(const struct hm_config *config, uint32_t job_id, char *out);
/* <run_dir>/fsdax/JOB/SOCKET */
char *hm_dax_path(const struct hm_config *config, uint32_t job_id, uint32_t socket, char *out);

/* The name of the n-th variable that hm_dax_variable can make, from 0; NULL past the last. */
const char *hm_dax_variable_name(int n);

/*
 * The n-th variable of the environment of the job's tasks: HYBRIDMEM_FSDAX_DIR (the path on the lowest socket),
 * HYBRIDMEM_FSDAX_DIRS ("0=PATH:1=PATH") and, for kept file systems, HYBRIDMEM_FSDAX_UNTIL. Fills `value` and returns
 * the name, or NULL: past the last, without file systems, or where the job does not have this variable.
 */
#define HM_DAX_VALUE (HM_JOB_NAMESPACES * (HM_DAX_PATH + 4)) /* bytes of the longest value */
const char *hm_dax_variable(const struct hm_config *config, uint32_t job_id, const struct hm_job_namespaces *namespaces,
                            int n, char value[HM_DAX_VALUE]);

#endif
