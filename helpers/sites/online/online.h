/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Online guidance: while a program is recorded, its sites are placed by what was sampled so far, without a profile of
 * an earlier run. A phase ends when enough samples are there and the program's own CPU time has paid for a decision, at
 * the earliest after a second.
 */
#ifndef HM_SITES_ONLINE_ONLINE_H
#define HM_SITES_ONLINE_ONLINE_H

#include "alloc/layout.h"
#include "sites/pack/pack.h"
#include "sites/record/sampler.h"

#define HM_ONLINE_OVERHEAD 0.01 /* of the CPUs' time, for sampling, decisions and moves; as the migrator's */
#define HM_ONLINE_LOOK_MS 250   /* between two looks at the program */
#define HM_ONLINE_SLOW 2        /* latency of the slow tier where it is not known; as the migrator's */

struct hm_online_setup {
    const struct hm_packer *packer;
    struct hm_layout layout; /* the tiers' nodes */
    uint64_t capacity;       /* bytes of the fast tier for the sites */
    double overhead;         /* 0..1 */
    double slow;             /* latency of the slow tier, as a multiple of the fast one's; 0: not known */
};

/* What came of it. */
struct hm_online_figures {
    uint64_t phases;                        /* decisions */
    uint64_t promoted_bytes, demoted_bytes; /* moved */
    uint64_t fast_bytes;                    /* of the sites that were chosen last */
    uint64_t limit_bytes;                   /* of the fast tier, for all sites */
    uint64_t fixed_bytes;                   /* of all sites, in memory at the last decision, that cannot be moved */
    double expected_share;                  /* of the accesses to sites; NaN: none was chosen */
    double seen_share;                      /* of the sampled accesses that the fast tier served; NaN: not known */
    uint64_t samples;                       /* behind that */
    size_t n_sites;                         /* chosen last */
    uint64_t site[HM_SITES_ENTRIES];        /* their ids, the first n_sites */
    char why[256];                          /* why no site was placed; "": some were */
};

struct hm_online;

/* Begins, before the program starts: tells its library the tiers' nodes. Both arguments stay the caller's, and alive.
 * Returns it, for hm_online_close, or NULL with a text. */
struct hm_online *hm_online_open(const struct hm_online_setup *setup, struct hm_watch *watch,
                                 struct hm_sampler *sampler, struct hm_error *error);
/* To be called after each look at the program. `read_s`: CPU time that reading its samples took so far, which the
 * sampler keeps within a part of the overhead that it has for itself. */
void hm_online_look(struct hm_online *online, double read_s);
/* What came of it until now. */
void hm_online_report(const struct hm_online *online, struct hm_online_figures *figures);
void hm_online_close(struct hm_online *online);

#endif
