/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A migrator's figures, in a file of one structure (base/grown.h) that root made in a root-owned folder and handed over
 * as descriptor 3: what was written last survives the migrator's death, and root reads it as plain bounded data. It
 * runs as the job's user, so the figures are self-reported, and the record says so.
 */
#ifndef HM_MIGRATOR_FIGURES_PROGRESS_H
#define HM_MIGRATOR_FIGURES_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fields.h"
#include "core/topology/topology.h"

#define HM_PROGRESS_MAGIC 0x484d4d31u
#define HM_PROGRESS_VERSION 2
#define HM_PROGRESS_WARNINGS 4
#define HM_PROGRESS_MOST_CPU_S 1e12      /* more is no figure: 10,000 CPUs for three years */
#define HM_PROGRESS_NO_SOURCE "none yet" /* in `source`: there was nothing to move so far */

/* Why a page could not be moved: the kernel's answers (move_pages(2)), by what they mean. */
enum hm_unmoved {
    HM_UNMOVED_SHARED, /* EACCES: mapped by several processes */
    HM_UNMOVED_BUSY,   /* EBUSY, EAGAIN: pinned, under write-back, or isolated by somebody else */
    HM_UNMOVED_ROOM,   /* ENOMEM: no page on the target */
    HM_UNMOVED_DENIED, /* EPERM, ENODEV: not ours, or a node outside of the cpuset */
    HM_UNMOVED_OTHER,
    HM_UNMOVED_REASONS
};

enum hm_progress_state { HM_PROGRESS_STARTING, HM_PROGRESS_RUNNING, HM_PROGRESS_ENDED };

/* It only grows: new members come at its end, and have a row in progress.c. */
struct hm_progress {
    uint32_t magic, version, bytes;
    uint32_t step_id; /* set by root */
    uint32_t state;   /* enum hm_progress_state; RUNNING in a record: it was killed */
    char algorithm[16], source[16];
    char source_why[HM_WARNING]; /* why no better source, "" none */
    uint64_t period;
    uint32_t period_is_time; /* 1: microseconds between looks; 0: accesses per sample */
    uint32_t knows_writes;
    uint64_t interval_ms;
    char hot_by[16]; /* accesses, or writes: the shares are then of writes alone */
    uint64_t phases, samples, lost, throttled, dropped;
    uint64_t promoted_bytes, demoted_bytes;
    uint64_t unmoved_bytes[HM_UNMOVED_REASONS];
    uint64_t capacity_bytes;        /* the cap on the fast tier; 0: none was asked for */
    uint64_t above_cap_bytes;       /* most that was above it at the end of a phase */
    uint64_t first_above_cap_bytes; /* above it before the first phase */
    double cpu_s, kernel_cpu_s;     /* of the migrator itself; on its behalf elsewhere: negative: not known */
    double
        fast_share; /* estimate: share of sampled accesses served by the fast tier, all phases; negative: no sample */
    double last_fast_share;     /* of the last phase */
    double best_share;          /* the same under the best placement that its own samples know: regret = best - fast */
    uint64_t first_ns, last_ns; /* CLOCK_REALTIME */
    uint32_t n_ranks, most_ranks;
    uint32_t n_warnings;
    char warning[HM_PROGRESS_WARNINGS][HM_WARNING];
};

/* The fields, but the first three. */
extern const struct hm_field hm_progress_table[];

/* The figures before the first phase: nothing is known. Pure. */
void hm_progress_init(struct hm_progress *progress, uint32_t step_id);
/* A text for the figures: cut where it is too long, bytes that are no printable ASCII replaced by "?". Pure. */
void hm_progress_text(char *to, size_t size, const char *text);
/* Add a warning, cut where it is too long, bytes that are no printable ASCII replaced by "?". One that is there
 * already, or for which there is no room, is dropped. Pure. */
void hm_progress_warn(struct hm_progress *progress, const char *text);
/* Create the file (O_EXCL, 0600). Returns the descriptor (read and write, close-on-exec), or -1 with nothing left. */
int hm_progress_create(const char *path, uint32_t step_id, struct hm_error *error);
/* Map the file behind the descriptor, after a check. Returns it (munmap by hm_progress_unmap), or NULL. */
struct hm_progress *hm_progress_map(int fd, struct hm_error *error);
void hm_progress_unmap(struct hm_progress *progress);
/* Read and check. Returns 0, or -1: ENOENT and the like, EBADMSG for anything that hm_progress_check refuses. */
int hm_progress_read(const char *path, struct hm_progress *progress, struct hm_error *error);
/* Counts and figures in range, texts terminated? Any bytes may be given. Returns 0, or -1 (EBADMSG, field's name).
 * Pure. */
int hm_progress_check(const struct hm_progress *progress, struct hm_error *error);
/* Words for the record: "shared", "busy", ... */
const char *hm_unmoved_name(enum hm_unmoved reason);

#endif
