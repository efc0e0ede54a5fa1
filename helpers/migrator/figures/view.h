/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message that a running migrator sends to `hybridmem top`. It has a fixed layout and goes over an abstract UNIX
 * socket (SOCK_SEQPACKET, "hybridmem/<job>.<step>.<mark>"). The migrator answers only its own user and root; `top`
 * checks the migrator's user in turn, as everybody may take such a name.
 */
#ifndef HM_MIGRATOR_FIGURES_VIEW_H
#define HM_MIGRATOR_FIGURES_VIEW_H

#include "progress.h"

/*
 * The abstract socket's name begins with this text. "JOB.STEP" follows, as decimal numbers, then "." and a mark of 16
 * hexadecimal digits. The mark is random, so that nobody can take a migrator's name before the migrator does. The
 * migrator answers each message with a view.
 */
#define HM_VIEW_SOCKET "hybridmem/"
#define HM_VIEW_MARK 16
#define HM_VIEW_ROWS 192

/*
 * A range of addresses of one process. Neighbouring ranges are joined until all rows fit; processes beyond the last row
 * are left out.
 */
struct hm_view_row {
    uint32_t pid;
    uint64_t first, n_pages;         /* page numbers */
    uint64_t fast_pages, slow_pages; /* pages present in the fast tier, and in all others */
    float reads, writes;             /* samples in a phase */
};

struct hm_view {
    struct hm_progress progress;
    uint32_t job_id;
    double promoted_per_s, demoted_per_s; /* bytes per second, over the last phase */
    uint64_t fast_bytes, slow_bytes;      /* of the step's present memory, in the same way */
    uint64_t kept_free_bytes;             /* of the fast tier (move/nodes.h); 0: not known yet */
    uint32_t n_rows;
    struct hm_view_row row[HM_VIEW_ROWS]; /* by process, then address */
};

#endif
