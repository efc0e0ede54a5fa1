/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live migrator. Its state has four parts: intake (processes and samples), window (which pages are written),
 * account (what the work costs) and shown (what others see). The other members decide and move. A loop waits
 * for samples, signals and the end of the phase; at that end it decides and moves.
 */
#ifndef HM_MIGRATOR_LIVE_LIVE_H
#define HM_MIGRATOR_LIVE_LIVE_H

#include "growth.h"
#include "meter/memory/cgroup.h"
#include "meter/memory/guard.h"
#include "migrator/decide/decide.h"
#include "migrator/decide/loadshare.h"
#include "migrator/figures/progress.h"
#include "migrator/move/mover.h"
#include "migrator/move/nodes.h"
#include "migrator/move/residence.h"
#include "migrator/softdirty/softdirty.h"
#include "migrator/sources/source.h"
#include "migrator/watch/claims.h"
#include "migrator/watch/devices.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"
#include "options.h"
#include "pace.h"
#include "purse.h"
#include "rest.h"
#include "tally.h"
#include "viewserver.h"

#define HM_LIVE_LATER 4096    /* most observations that are kept because their mapping is not known yet */
#define HM_LIVE_GAPS 4096     /* most gaps that are looked at: a gap is a span of memory in no extent */
#define HM_LIVE_RANGES 131072 /* most ranges of all processes' mappings: 2 MiB, twice that while the array grows */
#define HM_LIVE_EXTENTS 8192  /* default of max_extents for regions; a decider of two tiers then has less than 7 MiB */
#define HM_LIVE_BINS 1000     /* the same for the algorithm bins, as published; less than 2 MiB */
#define HM_LIVE_DEAD 8        /* most sources that can end by themselves */

/* Intake: the step's processes, their mappings, and the source that samples them. */
struct hm_live_intake {
    struct hm_ranks ranks;
    struct hm_maps *maps;   /* HM_RANKS of them, indexed by space */
    struct hm_maps scratch; /* buffer for reading mappings */
    struct hm_devices devices;
    struct hm_claims claims;  /* homes of memory that is mapped several times, when mappings were read last */
    unsigned n_followed;      /* calls of hm_live_follow_maps since it had to read all */
    bool all_read;            /* since the last call of hm_live_weigh_maps */
    uint64_t unknown_pages;   /* the fewest in no known mapping since all were read (hm_live_weigh_maps) */
    uint64_t n_lacking;       /* ranks.n_lacking at the last look; UINT64_MAX: it was told */
    uint64_t looked_ns;       /* CLOCK_MONOTONIC of the last look at the processes */
    uint64_t read_ns;         /* the same of the last time that the source was read */
    unsigned ways;            /* source->state.ways when the decider was made */
    struct hm_source *source; /* NULL: no source works, or the migrator rests: nothing is moved */
    uint64_t try_source_ns;   /* when to look for a source again if there is none */
    const struct hm_source_row *dead[HM_LIVE_DEAD]; /* sources that ended by themselves; left out until try_source_ns */
    size_t n_dead;
    /* observations outside the known mappings; they are tried again when the mappings were read */
    struct hm_observation later[HM_LIVE_LATER];
    size_t n_later;
    /* observations for which `later` had no room, or that waited there when their source was closed */
    uint64_t dropped;
    uint64_t retired_dropped;       /* hm_decider_dropped() of the deciders of earlier sources */
    struct hm_source_state retired; /* sums of the sources that were closed */
};

/*
 * Window: a time during which soft-dirty marks show which pages are written. For sources that cannot tell writes from
 * reads.
 */
struct hm_live_window {
    struct hm_softdirty *softdirty; /* NULL: such marks do not work here */
    bool is_used;                   /* the present source needs windows, and such marks work */
    bool is_open;
    struct hm_maps *begun; /* the mappings when the window began, by space; only if pages are hot by writes alone */
    double range_s;        /* CPU time for one range at the window's end; 0: not measured yet */
    uint64_t phase_ns;     /* start of the phase that has had its window */
    bool has_told;         /* that the writes of some processes are not known */
};

/* Account: what the work costs, and what the step uses. With these the overhead stays within the user's limit. */
struct hm_live_account {
    unsigned n_cpus;
    double apart[HM_MAX_TIERS]; /* bytes of files and of hugetlbfs by tier, as last looked at */
    double look_s;              /* measured CPU time for looking up one page; 0: not measured yet */
    /* correction to the CPU time measured for a decision: plus what the start of its window cost, less what its moves
     * cost, which are accounted apart */
    double deciding_s;
    double read_s;                     /* CPU time for reading the source, which counts as the source's overhead */
    double cgroup_s;                   /* CPU time of the step's cgroup, as last read; negative: it does not tell */
    double process_s[HM_OPTIONS_PIDS]; /* the same of single processes, by space; used if no cgroup tells it */
    struct hm_pace pace;               /* length of phases */
    struct hm_purse purse;             /* CPU time saved for decisions */
    uint64_t begun_ns;                 /* CLOCK_MONOTONIC when the account was opened */
    struct hm_tally tally;             /* shares of accesses by tier */
    struct hm_cgroup cgroup;           /* the step's memory by node, if `has_cgroup` */
    struct hm_node_map node_map;
    bool has_cgroup, knows_usage; /* it is open; it has told at the last decision what the step has in which tier */
};

/* Shown: the figures for the record, and the view for `hybridmem top`. */
struct hm_live_shown {
    struct hm_progress *progress; /* malloc'd here if no descriptor was given */
    struct hm_view view;
    struct hm_viewserver viewserver;
};

/* Share: what the step may have of the fast tier beside other jobs whose migrators use it, too. */
struct hm_live_share {
    int fd; /* of the table (core/share/shares.h); -1: none */
    struct hm_cgroup job;
    bool has_job;  /* `job` is open */
    bool is_wider; /* the tier has nodes that this step does not use: `nodes` has all of them */
    struct hm_nodes nodes;
    uint64_t pages; /* UINT64_MAX: the job shares the tier with nobody */
    bool is_above;  /* at the last look the step had more than that */
};

/* Load: which traffic the tiers serve, and how much heat belongs in the fast one. */
struct hm_live_load {
    int traffic; /* of the monitor's samples file; -1: none */
    bool has_curves;
    struct hm_load curves;
    uint64_t counted_ns; /* when the counters had these bytes in the fast and the slow tier; 0: never */
    double counted[2];
    double still_s; /* how long the phases took that have ended since then without a new reading */
    struct hm_loadshare seen;
    struct hm_heat_share share; /* `fast` is 1 where nothing is known */
};

/* Room: what is kept free in the fast tier for what the step allocates. */
struct hm_live_room {
    struct hm_growth growth; /* of the step's anonymous and shared memory */
    uint64_t next_look_ns;   /* at the earliest */
    uint64_t phase_ns;       /* how long the last phase took; 0: none has ended yet */
};

struct hm_live {
    const struct hm_options *options;
    struct hm_live_intake intake;
    struct hm_live_window window;
    struct hm_live_account account;
    struct hm_live_shown shown;
    struct hm_decider *decider; /* decides what is hot and where it should be; NULL: there is no source */
    struct hm_nodes nodes;
    struct hm_mover mover;
    struct hm_residence residence;
    struct hm_rest rest;
    struct hm_guard guard; /* tells when the step is over */
    int signals;           /* signalfd(2) of the signals that end the migrator */
    uint64_t cap_pages;    /* cap on the fast tier; UINT64_MAX: no cap */
    struct hm_live_share share;
    struct hm_live_load load;
    struct hm_live_room room;
    /* when the phase began: CLOCK_MONOTONIC, and hm_live_samples() */
    uint64_t phase_start_ns, phase_first_sample;
    uint64_t phase_first_round; /* the source's rounds when the phase began */
    bool is_overdue;            /* the phase does not wait for the end of a round any more */
    uint64_t n_decided;         /* number of phases that ended with a decision */
    struct hm_extent *gaps;     /* buffer of HM_LIVE_GAPS, for memory that is in no extent */
};

/*
 * To be called first, before the process becomes the job's user (--uid). The caller has made the process not dumpable,
 * as a source's descriptors may see more than the user may. Without --uid it is dumpable for a moment in this call.
 */
void hm_live_begin(struct hm_live *live, const struct hm_options *options);
/* Sets everything else up except the source. Returns 0, or -1; call hm_live_close() in both cases. */
int hm_live_open(struct hm_live *live, struct hm_error *error);
void hm_live_close(struct hm_live *live);
/* Works until the step is over or a signal arrives. */
void hm_live_run(struct hm_live *live);

/* ---- functions that the files of the live migrator share */

/* Has a signal to end arrived? */
bool hm_live_is_told(void *live);

/* Most extents that the decider may tell apart: what --bins says, or the default of the algorithm. */
unsigned hm_live_max_extents(const struct hm_options *options);
/* What a source has to know of these options; n_cpus: of the step. */
struct hm_source_setup hm_live_source_setup(const struct hm_options *options, unsigned n_cpus);
/*
 * Opens the source that --source names, or the best that is left, and makes its decider. A failure is a warning in the
 * figures, unless the migrator was told to end meanwhile.
 */
void hm_live_open_source(struct hm_live *live);
/* Closes the source, and frees its decider. */
void hm_live_close_source(struct hm_live *live);
/* Reads the source's samples. If the source has ended, the next best one is opened, with a warning. */
void hm_live_read_source(struct hm_live *live);
/* Tells the source which processes there are. If the source has ended, the next best one is opened, with a warning. */
void hm_live_update_source(struct hm_live *live);
/* Number of samples of all sources so far. */
uint64_t hm_live_samples(const struct hm_live *live);
/* When to begin a window, in ns of CLOCK_MONOTONIC, as `now` is; UINT64_MAX: not in this phase, or one is open. */
uint64_t hm_live_window_due(const struct hm_live *live, uint64_t now);
/* Begins a window: clears the marks of the processes whose turn it is. */
void hm_live_begin_window(struct hm_live *live);
/* Ends the window, if one is open: looks up which pages of the extents (or of all memory, if only writes count) were
 * written. */
void hm_live_end_window(struct hm_live *live, const struct hm_extent *extents, size_t count);
/* The source looks in another way now: the decider and the phase begin anew, as nothing that is known can be compared
 * with that. If there is no memory for a new decider, the old one stays. */
void hm_live_begin_anew(struct hm_live *live);
/* Takes observations of the source (hm_source_sink); `live` is a struct hm_live. Those outside the known mappings wait
 * until these are read again. */
void hm_live_take(void *live, const struct hm_observation *observations, size_t count);
/*
 * Passes on the observations that waited for their mapping (`later`). To be called when the mappings were read again.
 */
void hm_live_observe_later(struct hm_live *live);

/* Looks for processes that came or went, and tells the source. Returns the number of living ones; -1: the cgroup cannot
 * be read. */
int hm_live_look(struct hm_live *live);
/* Reads the mappings of all processes again, and forgets memory that is no longer mapped. */
void hm_live_read_maps(struct hm_live *live);
/* The same, at the end of a phase: of the processes that seem to have changed theirs, by how much they have mapped and
 * by what was seen in use. Where one has mapped or unmapped memory that others may map, too, that concerns their
 * mappings: then all are read. Returns whether any were read, of which the source is to be told. */
bool hm_live_follow_maps(struct hm_live *live);
/*
 * Tells how many pages the step has by its cgroup, and how many of them looks have found in known mappings. Where many
 * more are missing than when all mappings were read, memory has come in place of as much that was unmapped: the next
 * call of hm_live_follow_maps reads all.
 */
void hm_live_weigh_maps(struct hm_live *live, uint64_t used_pages, uint64_t found_pages);
/* Reads the mappings of one process. `claims` NULL: without regard to what others have mapped. Returns as hm_maps_read.
 */
int hm_live_read_one(struct hm_live *live, uint32_t space, struct hm_maps *maps, struct hm_claims *claims);

/*
 * Reads the step's anonymous and shared memory by tier from its cgroup, without page cache, and adds what else may be
 * moved, as it was when last looked at (account.apart). Returns false if there is no cgroup or the kernel does not
 * tell.
 */
bool hm_live_read_tiers(struct hm_live *live, uint64_t bytes[HM_MAX_TIERS]);
/* Sums up: what is in the fast tier, and what is in all others. */
void hm_live_sum_slow(const uint64_t tiers[HM_MAX_TIERS], uint64_t bytes[2]);
/* Reads both sums. */
bool hm_live_read_usage(struct hm_live *live, uint64_t bytes[2]);
/* The same of the step's job. */
bool hm_live_read_job(struct hm_live *live, uint64_t bytes[2]);
/* Opens the cgroup of the step's job, and reads the nodes of the whole fast tier, where there is a table of shares.
 * Without the cgroup, what the job has is as its monitor told. */
void hm_live_open_share(struct hm_live *live);
/*
 * Finds out the step's share, and notes it in the figures. `bytes` is what the step has in the fast and the slow tier;
 * what is free there must be refreshed (hm_nodes_refresh).
 */
void hm_live_read_share(struct hm_live *live, const uint64_t bytes[2]);
/* Notes how much memory the step has, at most twice in an interval. `now` is CLOCK_MONOTONIC, in ns. */
void hm_live_look_at_growth(struct hm_live *live, uint64_t now);
/*
 * Finds out how much of the fast tier is to stay free (hm_nodes_keep). `bytes` is what the step has in the fast and the
 * slow tier.
 */
void hm_live_keep_room(struct hm_live *live, const uint64_t bytes[2]);
/* Does the step have more of the fast tier than its cap or its share allows? */
bool hm_live_is_above(struct hm_live *live);

/* Opens the monitor's samples file, as root, as no user reaches its folder. */
void hm_live_begin_load(struct hm_live *live);
/* Reads the curves of the tiers' latencies, as the user. Where there are none, the figures say why. */
void hm_live_open_load(struct hm_live *live);
void hm_live_close_load(struct hm_live *live);
/*
 * Finds out the traffic of the phase that ends, after hm_tally_end, and how much heat belongs in the fast tier; notes
 * both in the figures. `extents` tell what is read and written. Returns what the decision code is told, which belongs
 * to `live`; NULL: all heat belongs in the fast tier, or it is not known, for which the figures have the reason.
 */
struct hm_heat_share *hm_live_look_at_load(struct hm_live *live, const struct hm_extent *extents, size_t count,
                                           double phase_s);
/* Does heat belong in the slow tier? While the migrator rests, this looks at the counters. */
bool hm_live_wants_balance(struct hm_live *live);

/* Decides whether to rest, by what the slow tier has, by the cap and by the share. Closes the source when the rest
 * begins. */
void hm_live_rest(struct hm_live *live);
/* The same right after a decision, by what that has found out and moved, as the view has it. */
void hm_live_rest_decided(struct hm_live *live);
/*
 * Looks where the files and the huge pages of hugetlbfs are that may be moved, of which the cgroup does not tell
 * (account.apart). Uses `gaps` as a buffer.
 */
void hm_live_look_at_apart(struct hm_live *live);
/* A look while the migrator rests, after hm_live_look; one in HM_REST_MAPS reads the mappings first. */
void hm_live_look_at_rest(struct hm_live *live);

/* CPU seconds of this thread. */
double hm_live_thread_s(void);
/* CPU seconds of this process, system calls included. */
double hm_live_own_s(void);
/* CPU seconds of the step's cgroup; negative: there is none, or it does not tell. */
double hm_live_cgroup_s(const struct hm_live *live);
/* CPU seconds of the step's processes: from the cgroup, where it has told when the account was opened, else from the
 * processes themselves. The two are never mixed, as processes that are gone count in the cgroup alone. */
double hm_live_job_s(struct hm_live *live);
/* Enters the CPU time of the step and of this process so far into the purse, without that for reading the source. */
void hm_live_look_at_cost(struct hm_live *live);

/* Is there enough CPU time for a decision now, and enough to decide on? There must be a source. */
bool hm_live_is_paid(struct hm_live *live);
/* Has the source ended a round of looks since the phase began? A source without rounds always has. */
bool hm_live_has_looked(const struct hm_live *live);

/* Begins a phase at `now` (CLOCK_MONOTONIC, in ns). To be called when a decider is new, too: so each decision is made
 * from a whole phase. */
void hm_live_begin_phase(struct hm_live *live, uint64_t now);
/* Has the phase lasted long enough? */
bool hm_live_phase_is_over(const struct hm_live *live, uint64_t now);
/* Lets a phase that has waited very long for the end of a round wait no more if the step is above its cap or share. */
void hm_live_look_at_limits(struct hm_live *live, uint64_t now);
/*
 * Ends a phase: measures heat, moves pages, updates figures. Extends it instead while the source has not ended a round
 * of looks, however long that takes, or a decision is not paid for (pace.h).
 */
void hm_live_end_phase(struct hm_live *live);
/* Updates the figures that can be read at any time: CPU seconds, samples, processes. */
void hm_live_update_figures(struct hm_live *live);

#endif
