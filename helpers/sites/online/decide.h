/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision of online guidance: which sites should be in the fast tier from now on, by what was sampled so far, and
 * does it pay to move their pages? After Olson et al., Online Application Guidance for Heterogeneous Memory Systems,
 * ACM TACO 19 (2022): a packer chooses, and its choice counts only where it is worth what the moves cost. Pure.
 */
#ifndef HM_SITES_ONLINE_DECIDE_H
#define HM_SITES_ONLINE_DECIDE_H

#include "sites/pack/pack.h"

#define HM_ONLINE_EVIDENCE 64 /* samples: fewer tell next to nothing, as for the migrator */

struct hm_online_site {
    double accesses;         /* sampled ones, lately */
    double samples;          /* behind them */
    uint64_t bytes;          /* in memory, lately, that can be moved */
    uint64_t tier_bytes[2];  /* of it now, in the fast tier and below */
    uint64_t fixed_bytes[2]; /* in memory now, the same for what cannot be moved */
    bool is_fast;            /* chosen now. In: before this decision */
};

struct hm_online_scene {
    const struct hm_packer *packer;
    uint64_t capacity; /* bytes that sites may have in the fast tier */
    double samples;    /* of the whole program, lately */
    double elsewhere;  /* accesses to memory of no site; it stays where it is */
    double slow;       /* latency of the slow tier, as a multiple of the fast one's; more than 1 */
    double use_s;      /* CPU seconds of the program for which a placement is expected to be of use */
    double byte_s;     /* CPU seconds to move a byte */
};

enum hm_online_verdict {
    HM_ONLINE_BLIND, /* too few samples: nothing is chosen */
    HM_ONLINE_SAME,  /* the choice is what it was */
    HM_ONLINE_COST,  /* another choice would not pay for its moves */
    HM_ONLINE_NEW,   /* there is another choice */
};

struct hm_online_choice {
    enum hm_online_verdict verdict;
    bool is_full;        /* not all sites fit: those that were not chosen make room for those that were, if any */
    uint64_t fast_bytes; /* of the chosen sites */
    /* of the accesses to sites, the part that goes to chosen ones, as far as they can be in the fast tier; NaN: there
     * are none */
    double expected_share;
    double gain; /* by which part the waits for memory become shorter with the packer's choice, 0..1 */
};

/*
 * Decides, and sets is_fast of the sites. A site changes tiers only where its accesses differ from those of others by
 * more than their sampling error (3 standard errors of each), so that chance moves nothing. The accesses to a site are
 * taken to be spread evenly over its memory; one that has none that can be moved stays what it is. Returns 0, or -1
 * (ENOMEM).
 */
int hm_online_decide(const struct hm_online_scene *scene, struct hm_online_site *site, size_t n,
                     struct hm_online_choice *choice);

/* Accesses to a byte of the site's memory, whether it can be moved or not; 0: it has none. */
double hm_online_heat(const struct hm_online_site *site);

#endif
