/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The DAX file systems of a job, as the ledger's entry has them, and where they are seen: <run_dir>/fsdax/JOB/SOCKET.
 * These folders are empty but in the mount namespaces of the job's tasks.
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
    char name[64];   /* its label: "hybridmem:CLUSTER:JOB.RESTART.SOCKET", or "...:uUID.MINUTE.SOCKET" */
    char device[24]; /* "/dev/pmem0.1" */
    char fs[8];
    uint32_t socket;
    uint64_t bytes; /* taken from the region */
};

struct hm_job_namespaces {
    bool is_begun;                                   /* some may be there, under the job's number and `restart` */
    uint32_t restart;                                /* of the run that they were made for */
    uint32_t n;                                      /* 0: none that can be used */
    struct hm_job_namespace each[HM_JOB_NAMESPACES]; /* by ascending socket */
    double create_s, destroy_s;                      /* of all together; negative: not done */
    bool is_kept; /* they are the user's: what he has kept, or what was made and stays; no other job of his has them */
    int64_t kept_until_s; /* then: when their age is over, UNIX */
};

/* None. */
void hm_dax_clear(struct hm_job_namespaces *namespaces);
/* Its fields. */
extern const struct hm_field hm_dax_table[];

/*
 * Is the device still on the namespace? It is remembered from when that was made, and the kernel numbers anew where an
 * administrator has disabled and enabled a region: it may be another job's. Looked up below `sysfs` (HM_SYSFS). Returns
 * 0, or -1 (ESTALE: on another one).
 */
#define HM_SYSFS "/sys"
int hm_dax_check_device(const char *sysfs, const struct hm_job_namespace *one, struct hm_error *error);

/* <run_dir>/fsdax. Returns `out` (HM_DAX_PATH), as the next do. */
char *hm_dax_folder(const struct hm_config *config, char *out);
/* <run_dir>/fsdax/JOB */
char *hm_dax_job_folder(const struct hm_config *config, uint32_t job_id, char *out);
/* <run_dir>/fsdax/JOB/SOCKET */
char *hm_dax_path(const struct hm_config *config, uint32_t job_id, uint32_t socket, char *out);

/* Make the job's folders, root's. Returns 0 or -1. */
int hm_dax_make_folders(const struct hm_config *config, uint32_t job_id, const struct hm_job_namespaces *namespaces,
                        struct hm_error *error);
/* Remove what there is of them. Returns 0 or -1. */
int hm_dax_remove_folders(const struct hm_config *config, uint32_t job_id, struct hm_error *error);

/* The n-th variable's name, NULL past the last. */
const char *hm_dax_variable_name(int n);

/*
 * The n-th variable of the environment of the job's tasks: HYBRIDMEM_FSDAX_DIR (the first one's path),
 * HYBRIDMEM_FSDAX_DIRS ("0=PATH:1=PATH") and, where they are kept, HYBRIDMEM_FSDAX_UNTIL. Returns its name, `value`
 * filled, or NULL past the last, where there are no file systems, and where the job does not have this one.
 */
#define HM_DAX_VALUE (HM_JOB_NAMESPACES * (HM_DAX_PATH + 4))
const char *hm_dax_variable(const struct hm_config *config, uint32_t job_id, const struct hm_job_namespaces *namespaces,
                            int n, char value[HM_DAX_VALUE]);

#endif
