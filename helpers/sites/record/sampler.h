/* SPDX-License-Identifier: Apache-2.0 */
/* Samples the accesses of the processes that are watched, with the migrator's sources. */
#ifndef HM_SITES_RECORD_SAMPLER_H
#define HM_SITES_RECORD_SAMPLER_H

#include "maps.h"
#include "migrator/sources/source.h"
#include "watch.h"

#define HM_SAMPLER_WHY 1024
#define HM_SAMPLER_RATE 192
#define HM_SAMPLER_LAST 1024 /* pages of the last samples that are kept */

struct hm_sampler {
    struct hm_source *source; /* NULL: there is none */
    bool sees_regions;        /* its samples are of regions of pages */
    struct hm_ranks ranks;
    struct hm_watch *watch;
    bool is_watching;            /* the source was told of processes */
    struct hm_sampler_maps maps; /* of a source that sees regions */
    bool has_to_follow;          /* processes have come or gone */
    unsigned ways;               /* of looking that the source had had when accesses were counted last */
    char why[HM_SAMPLER_WHY];    /* why there is no source, or no better one; "": nothing to say */
    char why_last[HM_WARNING];   /* the same of the one of single pages that was tried last, and needs least */
    uint64_t period;             /* accesses per sample that were asked for; 0: none were */
    uint64_t n_last;             /* samples, of which `last` has the last ones; 0 after processes have come or gone */
    uint64_t last[HM_SAMPLER_LAST]; /* their pages, with a process's number in `ranks` (migrator/decide/decide.h) */
    struct hm_source_state state;   /* of the source, also after it was closed */
};

/* The best source that sees single pages. */
#define HM_SAMPLER_PAGES "pages"

/* Is this a source of accesses to sites, or "auto"? Else leaves a text. */
bool hm_sampler_knows(const char *name, struct hm_error *error);
/* Opens the source of this name; "auto": the best. `period`: accesses per sample, 0: the source chooses. `broker`: the
 * socket of the step's broker, which has DAMON, and lends events where the user may open none; NULL: there is none.
 * Where no source works, `why` says so, and nothing is sampled. */
void hm_sampler_open(struct hm_sampler *sampler, struct hm_watch *watch, const char *name, double overhead,
                     uint64_t period, const char *broker);
/* Why not one of `period` accesses is sampled, as was asked for: the source takes samples by time, there is none, or it
 * has become coarser to keep to the overhead. `why` is "" where it is as asked. */
void hm_sampler_explain_rate(const struct hm_sampler *sampler, char why[HM_SAMPLER_RATE]);
/* Takes the samples that there are, and looks for new threads; `has_changed`: a process has come or gone. */
void hm_sampler_read(struct hm_sampler *sampler, bool has_changed);
/* Descriptor that becomes readable when there are many samples; -1: none. */
int hm_sampler_fd(const struct hm_sampler *sampler);
void hm_sampler_close(struct hm_sampler *sampler);

#endif
