/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing the node to what the living jobs own, after whatever crash. */
#ifndef HM_JOB_HOOKS_REAP_H
#define HM_JOB_HOOKS_REAP_H

#include "job/namespaces/namespaces.h"

struct hm_reap {
    unsigned grace_s;
    const char *node;     /* drained where a namespace of no job cannot be removed; NULL: none is */
    bool is_config_known; /* else the ledger may be another's: namespaces and resctrl groups are left alone */
    struct hm_namespaces_reap namespaces;
};

/*
 * Dead jobs lose their monitors and changes at once, and are finished where they are of another boot or have been dead
 * for `grace_s` (an epilog may still come). Files and monitors of no job are removed. Failures go to the log. Can be
 * run at any time, by several processes at once. Returns true where hm_wipe_hand_over is to follow, with the reason.
 */
bool hm_reap(const struct hm_config *config, const struct hm_reap *reap, struct hm_error *left);

/* Try the records again that could not be written: last, as their folder may be a file system that hangs. */
void hm_reap_records(const struct hm_config *config);

#endif
