/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A migrator's figures. They are in a file of one structure (base/grown.h), which root makes in a folder of root's and
 * passes to the migrator as descriptor 3. So the last figures survive the migrator's death, and root reads them as
 * plain data of a fixed size. The migrator runs as the job's user: the figures are self-reported, and the record says
 * so.
 */
#ifndef HM_MIGRATOR_FIGURES_PROGRESS_H
#define HM_MIGRATOR_FIGURES_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fields.h"
#include "core/topology/topology.h"
#include "kinds.h"

#define HM_PROGRESS_MAGIC 0x484d4d31u
#define HM_PROGRESS_VERSION 2
#define HM_PROGRESS_WARNINGS 4
#define HM_PROGRESS_MOST_CPU_S 1e12      /* a larger time is not believed: 10,000 CPUs for three years */
#define HM_PROGRESS_MOST_TRAFFIC 1e18    /* bytes per second; more is not believed */
#define HM_PROGRESS_NO_SOURCE "none yet" /* value of `source` while there was nothing to move */

/* Why pages could not be moved, from the errors of move_pages(2). */
enum hm_unmoved {
    HM_UNMOVED_SHARED, /* EACCES of a page: mapped by several processes */
    HM_UNMOVED_BUSY,   /* EBUSY, EAGAIN: pinned, under write-back, or isolated by another process */
    HM_UNMOVED_ROOM,   /* ENOMEM: no free page on the target node */
    HM_UNMOVED_DENIED, /* EPERM, ENODEV, EACCES of the whole call: not the user's page, or a node outside the cpuset */
    HM_UNMOVED_OTHER,
    HM_UNMOVED_REASONS
};

enum hm_progress_state { HM_PROGRESS_STARTING, HM_PROGRESS_RUNNING, HM_PROGRESS_ENDED };

/* New members may only be added at the end, with a row in progress.c. */
struct hm_progress {
    uint32_t magic, version, bytes;
    uint32_t step_id; /* set by root */
    uint32_t state;   /* enum hm_progress_state; RUNNING in a record means that the migrator was killed */
    char algorithm[16], source[16];
    /* why no better source is used, or none at all; else how the source watches; "": nothing to say */
    char source_why[HM_WARNING];
    uint64_t period;
    uint32_t period_is_time; /* 1: `period` is the microseconds between looks; 0: the accesses per sample */
    uint32_t knows_writes;
    uint64_t interval_ms;
    char hot_by[16]; /* "accesses", or "writes": the shares are then shares of writes */
    uint64_t phases, samples;
    uint64_t lost, throttled; /* samples that the kernel dropped; how often it cut the rate of sampling */
    uint64_t dropped;         /* observations not used: no room in the migrator's memory, not valid, or source closed */
    uint64_t promoted_bytes, demoted_bytes;
    uint64_t unmoved_bytes[HM_UNMOVED_REASONS];
    uint64_t capacity_bytes;        /* the cap on the fast tier; 0: no cap */
    uint64_t above_cap_bytes;       /* the most that was above the cap at the end of a phase */
    uint64_t first_above_cap_bytes; /* what was above the cap before the first move */
    /* CPU time of the migrator, and of the kernel and the broker for it (negative: not known) */
    double cpu_s, kernel_cpu_s;
    /* estimate for all phases: share of the sampled accesses that the fast tier served; negative: not known, as there
     * are no samples, or too many are of saturated pages (live/tally.h) */
    double fast_share;
    double last_fast_share; /* the same for the last phase */
    /* the same under the best placement for these samples; regret = best_share - fast_share */
    double best_share;
    uint64_t first_ns, last_ns;   /* CLOCK_REALTIME of the first and the last update of the figures */
    uint32_t n_ranks, most_ranks; /* processes at the last update of the figures, and the most at any */
    uint32_t n_warnings;
    char warning[HM_PROGRESS_WARNINGS][HM_WARNING];
    /* what the step may have of the fast tier by the job's share, now and at least so far; 0: it shares it with nobody
     */
    uint64_t share_bytes, least_share_bytes;
    /*
     * Tiers under load: phases whose traffic was known (0: the figures below tell nothing); the mean over them of the
     * share of the accesses that belonged in the fast tier, and of the traffic that it and the slow one served, in
     * bytes per second; where the traffic was known from ("counters" or "samples"); why none was known, or "".
     */
    uint64_t balance_phases;
    double balance_share, fast_traffic, slow_traffic;
    char traffic_source[16], balance_why[64];
    /* estimate for all phases, if it is known: share of the sampled accesses to each kind of memory, and to those of
     * its pages that could not be moved */
    uint32_t knows_heat;
    double heat[HM_MEMORY_KINDS], stuck[HM_MEMORY_KINDS];
    /* All of the following are negative where they are not known, as with a migrator of an earlier version. */
    double above_cap_s; /* how long the phases took in which the step was above the cap */
    /* CPU time that the overhead has allowed for deciding and moving, and the most that was spent beyond it */
    double allowed_s, advance_s;
    /* CPU seconds of waiting for memory that the moves were expected to make up, if the job does nothing but wait; also
     * not known where heat was balanced between the tiers */
    double gain_s;
    /* as fast_share, of each tier that the migrator moves pages between, the fast one first; of none with a migrator of
     * an earlier version */
    uint32_t n_tier_shares;
    double tier_share[HM_MAX_TIERS];
};

/* The fields of struct hm_progress, without the first three. */
extern const struct hm_field hm_progress_table[];

/* Sets the figures before the first phase, when nothing is known. Pure. */
void hm_progress_init(struct hm_progress *progress, uint32_t step_id);
/*
 * Copies a text for the figures: a long one ends after a word (base/fit.h), and bytes that are not printable ASCII
 * become "?". Pure.
 */
void hm_progress_text(char *to, size_t size, const char *text);
/*
 * Adds a warning, changed as by hm_progress_text. A warning that is there already, or one too many, is dropped. Pure.
 */
void hm_progress_warn(struct hm_progress *progress, const char *text);
/*
 * Creates the file (O_EXCL, 0600). Returns a descriptor (read and write, close-on-exec) that the caller closes, or -1;
 * then it has made no file.
 */
int hm_progress_create(const char *path, uint32_t step_id, struct hm_error *error);
/* Checks the descriptor's file and maps it. Returns the map, which hm_progress_unmap removes, or NULL. */
struct hm_progress *hm_progress_map(int fd, struct hm_error *error);
void hm_progress_unmap(struct hm_progress *progress);
/*
 * Reads the file and checks it. Returns 0, or -1: ENOENT and other errors of open(2); EBADMSG: it is no such file, or
 * hm_progress_check refuses what is in it; EIO: it cannot be read.
 */
int hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *error);
/*
 * Are all values in range and all texts terminated? `progress` may hold any bytes. Returns 0, or -1 (EBADMSG, with the
 * field's name). Pure.
 */
int hm_progress_check(const struct hm_progress *progress, struct hm_error *error);
/* The reason's name in the record: "shared", "busy", ... */
const char *hm_unmoved_name(enum hm_unmoved reason);

#endif
