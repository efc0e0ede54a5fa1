/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a namespace is: said in its label, on the memory itself, so that it outlives a crash of the node. A namespace
 * is ours where its name has our form and its uuid is the one that follows from that name: what anybody else made or
 * renamed fails one of the two. It is a job's, or a user's who keeps it over his jobs: one of that kind is so from its
 * first byte on, for the kernel lets nobody change the uuid of a label. Pure.
 */
#ifndef HM_NAMESPACE_PMEM_OWNER_H
#define HM_NAMESPACE_PMEM_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <uuid/uuid.h>

#include "base/error.h"

/* Longest name of a cluster in a label: with the longest numbers beside it the whole is below the kernel's 64. */
#define HM_OWNER_CLUSTER 28
#define HM_OWNER_NAME 64

#define HM_OWNER_MINUTES UINT32_C(999999999) /* most, for the same reason */

enum hm_owner_kind { HM_OWNER_JOB, HM_OWNER_USER };

struct hm_owner {
    char cluster[HM_OWNER_CLUSTER + 1];
    enum hm_owner_kind kind;
    uint32_t job_id, restart; /* a job's; else 0 */
    uint32_t uid;             /* a user's; else 0 */
    uint32_t minute;          /* likewise: when it was made, minutes since 1970; its age counts from there */
    unsigned socket;
};

/* Name the cluster: cut where it is too long, and what is not a letter, digit, "-", "_" or "." becomes "_"; NULL or ""
 * becomes "-". */
void hm_owner_set_cluster(struct hm_owner *owner, const char *cluster);

/* The label's name, "hybridmem:CLUSTER:JOB.RESTART.SOCKET" or "hybridmem:CLUSTER:uUID.MINUTE.SOCKET", and its uuid:
 * version 5 of that name. */
void hm_owner_write(const struct hm_owner *owner, char name[HM_OWNER_NAME], uuid_t uuid);

/* Read a label back. Returns 0, or -1 (EINVAL) where the namespace is not ours; `owner` is then undefined. */
int hm_owner_read(const char *name, const uuid_t uuid, struct hm_owner *owner);

/* Is the owner of this cluster, is it this job of it? NULL: any cluster. */
bool hm_owner_is_of_cluster(const struct hm_owner *owner, const char *cluster);
bool hm_owner_is_of_job(const struct hm_owner *owner, const char *cluster, uint32_t job_id, uint32_t restart);
/* Is it what this user of it keeps? */
bool hm_owner_is_of_user(const struct hm_owner *owner, const char *cluster, uint32_t uid);
/* Is it the same label? */
bool hm_owner_is_equal(const struct hm_owner *owner, const struct hm_owner *other);

/* When the age of what a user keeps is over, in seconds since 1970. */
int64_t hm_owner_until(const struct hm_owner *owner, unsigned age_s);

/*
 * Lists of living jobs: words "JOB.RESTART", and "uUID" for users of whom a job has what they keep, with commas, blanks
 * or newlines between them; none at all is fine. "*" for the restart, or for the uid, is any: where little is known of
 * a job. Check the whole list before anything is done by it. Returns 0, or -1 (EINVAL) with a text that names the word.
 */
int hm_living_check(const char *list, struct hm_error *error);
/* Is the owner's job, or the owner, in the list, which was checked? */
bool hm_living_has(const char *list, const struct hm_owner *owner);

#endif
