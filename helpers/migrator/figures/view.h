/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a running migrator shows to `hybridmem top`: one message of fixed layout over an abstract UNIX socket
 * (SOCK_SEQPACKET, "hybridmem/<job>.<step>"), sent to a peer of the same user or root. The one who asks checks the
 * migrator's user in turn.
 */
#ifndef HM_MIGRATOR_FIGURES_VIEW_H
#define HM_MIGRATOR_FIGURES_VIEW_H

#include "progress.h"

/* The name of the abstract socket, before "JOB.STEP" in decimal numbers. The migrator answers each message with a view.
 */
#define HM_VIEW_SOCKET "hybridmem/"
#define HM_VIEW_ROWS 192

/* A range of addresses of one process; neighbouring regions are joined until they fit. */
struct hm_view_row {
    uint32_t pid;
    uint64_t first, n_pages;         /* page numbers */
    uint64_t fast_pages, slow_pages; /* present */
    float reads, writes;             /* samples per phase */
};

struct hm_view {
    struct hm_progress progress;
    uint32_t job_id;
    double promoted_per_s, demoted_per_s; /* bytes, over the last phase */
    uint64_t fast_bytes, slow_bytes;      /* of the step, present */
    uint32_t n_rows;
    struct hm_view_row row[HM_VIEW_ROWS]; /* by process, then address */
};

#endif
