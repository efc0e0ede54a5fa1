/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what a user keeps on this node, and checks it before a job gets it. */
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
 * Find what the user keeps, and check whether it serves the request. What is past its age, was never finished, or is
 * half removed, is wiped and removed first. Returns 0 with `kept` (empty where there is nothing), or -1 with a text;
 * then nothing was removed, unless it is a removal that failed.
 */
int hm_kept_find(const struct hm_config *config, const struct hm_namespace_request *request, const char *cluster,
                 struct hm_kept *kept, struct hm_error *error);

/* Mark new namespaces as finished; the last step of making them. Returns 0 or -1. */
int hm_kept_finish(const struct hm_namespace *made, int n, const char *filesystem, struct hm_error *error);

#endif
