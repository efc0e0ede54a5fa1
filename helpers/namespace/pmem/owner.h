/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The owner of a namespace. It is stored in the namespace's label, on the memory itself, so that it survives a crash of
 * the node. A namespace belongs to hybridmem where its name has hybridmem's form and its uuid is the one computed from
 * that name; a namespace that anybody else has made or renamed fails one of the two. The owner is a job, or a user who
 * keeps the namespace from job to job. That is decided when the namespace is made, as the kernel does not let anybody
 * change the uuid of a label. Pure.
 */
#ifndef HM_NAMESPACE_PMEM_OWNER_H
#define HM_NAMESPACE_PMEM_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <uuid/uuid.h>

#include "base/error.h"

/* Longest name of a cluster in a label. With it and the longest numbers, the whole name is shorter than the kernel's 64
 * bytes. */
#define HM_OWNER_CLUSTER 28
#define HM_OWNER_NAME 64

#define HM_OWNER_MINUTES UINT32_C(999999999) /* largest minute: 9 digits, so that the name fits into HM_OWNER_NAME */

enum hm_owner_kind { HM_OWNER_JOB, HM_OWNER_USER };

struct hm_owner {
    char cluster[HM_OWNER_CLUSTER + 1];
    enum hm_owner_kind kind;
    uint32_t job_id, restart; /* for a job; else 0 */
    uint32_t uid;             /* for a user; else 0 */
    uint32_t minute;          /* for a user: when the namespace was made, in minutes since 1970 */
    unsigned socket;
};

/* Set the cluster's name. It is cut where it is too long; any character but letters, digits, "-", "_" and "." becomes
 * "_"; NULL or "" becomes "-". */
void hm_owner_set_cluster(struct hm_owner *owner, const char *cluster);

/* Write the label's name, "hybridmem:CLUSTER:JOB.RESTART.SOCKET" or "hybridmem:CLUSTER:uUID.MINUTE.SOCKET", and its
 * uuid, the version 5 uuid of that name. */
void hm_owner_write(const struct hm_owner *owner, char name[HM_OWNER_NAME], uuid_t uuid);

/* Read a label. Returns 0, or -1 (EINVAL) where it is not hybridmem's; `owner` is then undefined. */
int hm_owner_read(const char *name, const uuid_t uuid, struct hm_owner *owner);

/* Does the owner belong to this cluster? NULL: any cluster. */
bool hm_owner_is_of_cluster(const struct hm_owner *owner, const char *cluster);
/* Is the owner this run of the job, in this cluster? */
bool hm_owner_is_of_job(const struct hm_owner *owner, const char *cluster, uint32_t job_id, uint32_t restart);
/* Is the owner this user of the cluster, who keeps the namespace? */
bool hm_owner_is_of_user(const struct hm_owner *owner, const char *cluster, uint32_t uid);
/* Are these the same owner, made at the same time, on the same socket? */
bool hm_owner_is_equal(const struct hm_owner *owner, const struct hm_owner *other);

/* When the age (`age_s` seconds) of a kept namespace is over, in seconds since 1970. */
int64_t hm_owner_until(const struct hm_owner *owner, unsigned age_s);

/*
 * Lists of living jobs. A list has words "JOB.RESTART", and "u1000" for a user (uid 1000) whose kept namespaces a job
 * uses, separated by commas, blanks or newlines; it may be empty. "*" as the restart or the uid stands for any, for
 * jobs of which little is known. Check a list as a whole before acting on it. Returns 0, or -1 (EINVAL) with a text
 * that names the word.
 */
int hm_living_check(const char *list, struct hm_error *error);
/* Is the owner's job, or the user, in the list, which hm_living_check has accepted? */
bool hm_living_has(const char *list, const struct hm_owner *owner);

#endif
