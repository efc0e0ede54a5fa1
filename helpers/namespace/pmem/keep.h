/* SPDX-License-Identifier: Apache-2.0 */
/* What users keep on a node: where it has room, for how long, and whether it is what a job asks for. Pure. */
#ifndef HM_NAMESPACE_PMEM_KEEP_H
#define HM_NAMESPACE_PMEM_KEEP_H

#include "base/moment.h"
#include "core/config/config.h"
#include "pmem.h"

/* What there is of ours, of all owners. */
struct hm_owned {
    const struct hm_namespace *namespace;
    int n;
};

/* Is anything kept on this node? Returns 0, or -1 (ENOTSUP). */
int hm_keep_check_offer(const struct hm_config *config, struct hm_error *error);

/*
 * As hm_share_plan, for what `uid` is to keep: of each region only the configuration's share is for all users'
 * together, and of each user no more than the quota. Gaps of the regions are narrowed to that. Returns how many there
 * are, or -1: also ENOSPC where share or quota leave no room, with their figures.
 */
int hm_keep_plan(const struct hm_config *config, struct hm_region *region, int n_regions, const struct hm_owned *owned,
                 uint32_t uid, const struct hm_set *sockets, uint64_t bytes, struct hm_share share[HM_MAX_SOCKETS],
                 struct hm_error *error);

/*
 * Does what a user keeps, `kept` alone, serve a job that wants so many bytes on these sockets? Returns 0, or -1
 * (EEXIST) with a text for him: what there is, and what he can ask for.
 */
int hm_keep_fits(const struct hm_config *config, const struct hm_owned *kept, const struct hm_set *sockets,
                 uint64_t bytes, struct hm_error *error);

/*
 * Is the age over? Not where no file said how long it is (the configuration was not found, or could not be read): the
 * site may have another one than is built in.
 */
bool hm_keep_is_over(const struct hm_config *config, const struct hm_owner *owner, int64_t now_s);

/* When it is over, as text; "" where that is not known. Returns `out`. */
char *hm_keep_until(const struct hm_config *config, const struct hm_owner *owner, char out[HM_MOMENT]);

#endif
