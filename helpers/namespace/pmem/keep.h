/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for what users keep on a node: how much room it has, how long it stays, and whether it fits a job's request.
 * Pure. */
#ifndef HM_NAMESPACE_PMEM_KEEP_H
#define HM_NAMESPACE_PMEM_KEEP_H

#include "base/moment.h"
#include "core/config/config.h"
#include "pmem.h"

/* The namespaces that hybridmem has made, of all owners. */
struct hm_owned {
    const struct hm_namespace *namespace;
    int n;
};

/* Can users keep anything on this node? Returns 0, or -1 (ENOTSUP). */
int hm_keep_check_offer(const struct hm_config *config, struct hm_error *error);

/*
 * Plan as hm_share_plan does, for what `uid` wants to keep. All users together may keep only the configured share of
 * each region, and a user no more than the quota; `region` is changed to have no more room than is left of its share.
 * Returns the number of shares, or -1: also ENOSPC where share or quota leave too little room, with their figures.
 */
int hm_keep_plan(const struct hm_config *config, struct hm_region *region, int n_regions, const struct hm_owned *owned,
                 uint32_t uid, const struct hm_set *sockets, uint64_t bytes, struct hm_share share[HM_MAX_SOCKETS],
                 struct hm_error *error);

/* Does `kept`, what a user keeps, serve a job that wants `bytes` on these sockets? Returns 0, or -1 (EEXIST) with a
 * text that tells the user what there is, and what to ask for. */
int hm_keep_fits(const struct hm_config *config, const struct hm_owned *kept, const struct hm_set *sockets,
                 uint64_t bytes, struct hm_error *error);

/* Is what this user keeps past its age? Always false where the configuration was not found or could not be read, as
 * the site may allow another age than the built-in one. */
bool hm_keep_is_over(const struct hm_config *config, const struct hm_owner *owner, int64_t now_s);

/* The time at which that age is over, as text; "" where the age is unknown. Returns `out`. */
char *hm_keep_until(const struct hm_config *config, const struct hm_owner *owner, char out[HM_MOMENT]);

#endif
