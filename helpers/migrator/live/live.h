/* SPDX-License-Identifier: Apache-2.0 */
/* The live migrator: one value from start to end, worked on by a loop, by what is sampled, and at the end of phases. */
#ifndef HM_MIGRATOR_LIVE_LIVE_H
#define HM_MIGRATOR_LIVE_LIVE_H

#include "meter/memory/cgroup.h"
#include "meter/memory/guard.h"
#include "migrator/decide/decide.h"
#include "migrator/figures/progress.h"
#include "migrator/move/mover.h"
#include "migrator/move/nodes.h"
#include "migrator/move/residence.h"
#include "migrator/softdirty/softdirty.h"
#include "migrator/sources/source.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"
#include "options.h"
#include "pace.h"
#include "purse.h"
#include "rest.h"
#include "tally.h"
#include "viewserver.h"

#define HM_LIVE_LATER 4096 /* observations outside of what was known to be movable, kept until the phase's end */
#define HM_LIVE_GAPS 4096
#define HM_LIVE_RANGES 131072 /* of all processes' mappings: 2 MiB, twice that while one grows */
#define HM_LIVE_REGIONS 1000  /* as in the published algorithm; under 8 MiB with every algorithm */
#define HM_LIVE_DEAD 8        /* sources that ended by themselves */

struct hm_live {
    const struct hm_options *options;
    struct hm_ranks ranks;
    struct hm_maps *maps; /* by space, HM_RANKS of them */
    struct hm_maps scratch;
    struct hm_nodes nodes;
    struct hm_mover mover;
    struct hm_residence residence;
    double look_s;              /* CPU time of looking up one page, as measured; 0: not yet */
    struct hm_decider *decider; /* NULL: no source */
    struct hm_source *source;   /* NULL: none works, nothing is moved */
    const struct hm_source_row *dead[HM_LIVE_DEAD];
    size_t n_dead;
    unsigned n_cpus;
    struct hm_softdirty *softdirty; /* tells writes where the source cannot; NULL: not to be had */
    bool uses_softdirty;
    bool is_window;           /* of soft-dirty marks, open */
    struct hm_maps *begun;    /* as `maps`, at its begin, apart; only where nothing but writes counts */
    double range_s;           /* CPU time of looking up what was written in a region; 0: not measured yet */
    uint64_t window_phase_ns; /* start of the phase that had its window */
    struct hm_pace pace;
    struct hm_purse purse;
    double deciding_s;                 /* CPU time of this decision so far, without moving */
    double read_s;                     /* CPU time of reading the source: out of the source's part of the overhead */
    double process_s[HM_OPTIONS_PIDS]; /* CPU time of single processes, by space: where there is no cgroup */
    struct hm_rest rest;
    struct hm_tally tally; /* the shares */
    struct hm_observation later[HM_LIVE_LATER];
    size_t n_later;
    uint64_t dropped, retired_dropped;
    struct hm_source_state retired; /* sums of sources that are closed */
    struct hm_progress *progress;   /* owned here where no descriptor was given */
    struct hm_view view;
    struct hm_viewserver viewserver;
    struct hm_cgroup cgroup;
    struct hm_node_map node_map;
    bool has_cgroup;
    struct hm_guard guard;
    int signals;
    uint64_t cap_pages; /* UINT64_MAX: none asked for */
    uint64_t phase_start_ns, phase_first_sample;
    uint64_t n_decided;     /* phases that it did not rest in */
    uint64_t try_source_ns; /* without a source: not before */
    struct hm_region *gaps; /* HM_LIVE_GAPS */
};

/* Set all up but the source; from then on the process is not dumpable: handles of a source may see more than the user
 * may. Returns 0, or -1. hm_live_close() in both cases. */
int hm_live_open(struct hm_live *live, const struct hm_options *options, struct hm_error *error);
void hm_live_close(struct hm_live *live);
/* Work until the guard or a signal says that it is over. */
void hm_live_run(struct hm_live *live);

/* ---- parts (each in its own file) */

/* Is there a signal to end? */
bool hm_live_is_told(void *live);

/* Sources: open the best that is left, close, hand over what there is, tell of processes. A source's decider comes and
 * goes with it. What goes wrong is a warning. */
void hm_live_open_source(struct hm_live *live);
void hm_live_close_source(struct hm_live *live);
void hm_live_read_source(struct hm_live *live);
void hm_live_update_source(struct hm_live *live);
/* Samples of all sources so far. */
uint64_t hm_live_samples(const struct hm_live *live);
/* Windows of soft-dirty marks: when to begin one (monotonic nanoseconds; UINT64_MAX: not in this phase); begin; end,
 * for the regions of the phase. */
uint64_t hm_live_window_due(const struct hm_live *live, uint64_t now);
void hm_live_begin_window(struct hm_live *live);
void hm_live_end_window(struct hm_live *live, const struct hm_region *regions, size_t count);
/* Those put off, now that the mappings were read again. */
void hm_live_observe_later(struct hm_live *live);

/* Look for processes that came or went. Returns the number of living ones. */
int hm_live_look(struct hm_live *live);
/* Read the mappings of all again; what is gone is forgotten. */
void hm_live_read_maps(struct hm_live *live);

/* The step's memory in both tiers, by its cgroup: anonymous and shared memory, without page cache. Returns false where
 * the kernel does not say. */
bool hm_live_read_usage(struct hm_live *live, uint64_t bytes[2]);
/* Between phases: rest or not, by what there is in the slow tier; closes the source where it rests. */
void hm_live_rest(struct hm_live *live);

/* CPU seconds of this thread so far. */
double hm_live_thread_s(void);
/* The same of this process, system calls included. */
double hm_live_own_s(void);
/* CPU seconds of the step's processes so far, by the cgroup, or by the processes themselves. */
double hm_live_job_s(struct hm_live *live);
/* Enter what the job and this process have used up to now. */
void hm_live_look_at_cost(struct hm_live *live);

/* May a decision be made now, by what was saved up? */
bool hm_live_is_paid(struct hm_live *live);

/* The end of a phase: heat, moves, figures. */
void hm_live_end_phase(struct hm_live *live);
/* Figures that are read off at any time: CPU seconds, samples, ranks. */
void hm_live_update_figures(struct hm_live *live);

#endif
