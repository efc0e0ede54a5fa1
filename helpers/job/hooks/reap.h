/* SPDX-License-Identifier: Apache-2.0 */
/* Reap: takes back what dead jobs left on the node, after any crash. */
#ifndef HM_JOB_HOOKS_REAP_H
#define HM_JOB_HOOKS_REAP_H

#include "job/namespaces/namespaces.h"

struct hm_reap {
    unsigned grace_s;
    const char *node; /* the node to drain where a namespace of no job cannot be removed; NULL: drain none */
    /* false: the ledger may be another cluster's, so namespaces and resctrl groups are left alone */
    bool is_config_known;
    struct hm_namespaces_reap namespaces;
};

/*
 * Ends the monitors and migrators of dead jobs and undoes the jobs' changes at once. Finishes jobs that died in an
 * earlier boot, or have been dead for `grace_s` seconds: until then, their epilog may still come. Also finishes jobs
 * whose end somebody began and did not complete. Their records are left to hm_reap_records. Removes files, monitors,
 * resctrl groups and namespaces that belong to no job. Failures are logged. It can run at any time, in several
 * processes at once. Returns true where the caller is to call hm_wipe_hand_over, with `left` as the reason.
 */
bool hm_reap(const struct hm_config *config, const struct hm_reap *reap, struct hm_error *left);

/*
 * Writes records that wait (store/store.h), some in each call (hm_store_retry). Returns true where it has written
 * any, so that the next call may write more. Call it last, and not before a job: their folder may be on a file system
 * that hangs.
 */
bool hm_reap_records(const struct hm_config *config);

#endif
