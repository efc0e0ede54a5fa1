/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live migrator. Its state is four values, each with its part of the work: what comes in, the window for writes,
 * what it costs, and what is shown; and around them what it decides and moves with. A loop waits for samples, signals
 * and the end of the phase, which is when decisions are made.
 */
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

/* What comes in: the step's processes, their mappings, and the source that samples them. */
struct hm_live_intake {
    struct hm_ranks ranks;
    struct hm_maps *maps;                           /* by space, HM_RANKS of them */
    struct hm_maps scratch;                         /* room to read mappings into */
    struct hm_source *source;                       /* NULL: none works, nothing is moved */
    uint64_t try_source_ns;                         /* without a source: when to look for one again */
    const struct hm_source_row *dead[HM_LIVE_DEAD]; /* sources that ended by themselves, not to be opened again */
    size_t n_dead;
    struct hm_observation later[HM_LIVE_LATER]; /* on pages of no known mapping: looked at again when those are read */
    size_t n_later;
    uint64_t dropped;               /* observations that found no room in `later` */
    uint64_t retired_dropped;       /* observations that deciders of earlier sources had no room for */
    struct hm_source_state retired; /* sums of sources that are closed */
};

/* The window in which soft-dirty marks tell which pages are written; for sources that cannot tell it themselves. */
struct hm_live_window {
    struct hm_softdirty *softdirty; /* NULL: this kernel has no marks */
    bool is_used;                   /* by the source of now */
    bool is_open;
    struct hm_maps
        *begun;        /* the mappings when it was opened, by space; used where pages are hot by their writes alone */
    double range_s;    /* CPU time of looking up what was written in a region; 0: not measured yet */
    uint64_t phase_ns; /* start of the phase that had its window */
};

/* What the work costs, and what the step has: the overhead is kept to the user's limit by these. */
struct hm_live_account {
    unsigned n_cpus;
    double look_s;                     /* CPU time of looking up one page, as measured; 0: not yet */
    double deciding_s;                 /* CPU time of this decision so far, without moving */
    double read_s;                     /* CPU time of reading the source: out of the source's part of the overhead */
    double process_s[HM_OPTIONS_PIDS]; /* CPU time of single processes, by space: where there is no cgroup */
    struct hm_pace pace;               /* how long a phase is */
    struct hm_purse purse;             /* CPU time that was saved up for decisions */
    struct hm_tally tally;             /* the shares of the overhead */
    struct hm_cgroup cgroup;           /* the step's memory, by node; only where `has_cgroup` */
    struct hm_node_map node_map;
    bool has_cgroup;
};

/* What others see of it: the record's figures, and what `hybridmem top` draws. */
struct hm_live_shown {
    struct hm_progress *progress; /* owned here where no descriptor was given */
    struct hm_view view;
    struct hm_viewserver viewserver;
};

struct hm_live {
    const struct hm_options *options;
    struct hm_live_intake intake;
    struct hm_live_window window;
    struct hm_live_account account;
    struct hm_live_shown shown;
    struct hm_decider *decider; /* what is hot, and where it should be; NULL: no source */
    struct hm_nodes nodes;
    struct hm_mover mover;
    struct hm_residence residence;
    struct hm_rest rest;
    struct hm_guard guard; /* tells when the step is over */
    int signals;           /* a descriptor of signalfd(2): the signals that end it */
    uint64_t cap_pages;    /* of the fast tier; UINT64_MAX: no limit was asked for */
    uint64_t phase_start_ns, phase_first_sample;
    uint64_t n_decided;     /* phases that it did not rest in */
    struct hm_region *gaps; /* room for what no region of a phase covers, HM_LIVE_GAPS of them */
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
/* Hand over the observations that were put off, now that the mappings have been read again. */
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
