/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the file systems that a user keeps on this node between jobs (fsdax with the key keep), and checks them before
 * a job gets them. */
#ifndef HM_NAMESPACE_COMMANDS_KEPT_H
#define HM_NAMESPACE_COMMANDS_KEPT_H

#include "namespace/pmem/mark.h"
#include "parts.h"

struct hm_kept {
    struct hm_namespace namespace[HM_MAX_SOCKETS]; /* sorted by socket */
    char filesystem[HM_MAX_SOCKETS][HM_MARK_FS];
    int n;
};

/*
 * Find what the user keeps, and check whether it serves the request. If any of it is past its age, was never finished
 * or is half removed, all of it is wiped and removed. Returns 0 with `kept` (empty where there is nothing), or -1 with
 * a text: that removal failed, or nothing was removed.
 */
int hm_kept_find(const struct hm_config *config, const struct hm_namespace_request *request, const char *cluster,
                 struct hm_kept *kept, struct hm_error *error);

/* Mark new namespaces as finished; the last step of making them. Returns 0 or -1. */
int hm_kept_finish(const struct hm_namespace *made, int n, const char *filesystem, struct hm_error *error);

#endif
