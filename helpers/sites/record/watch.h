/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the files that table.h describes: which processes there are, what they have allocated, and to
 * which site an address belongs. One thread.
 */
#ifndef HM_SITES_RECORD_WATCH_H
#define HM_SITES_RECORD_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/process.h"
#include "sites/profile/profile.h"
#include "sites/profile/slices.h"
#include "table.h"

#define HM_WATCH_PROCESSES 4096 /* that are known at one time; allocations of further ones are seen, not accesses */

struct hm_watch_range { /* memory of a site */
    uint64_t start, end;
    uint64_t before; /* bytes of the site that were allocated before it (table.h) */
    uint32_t entry;
    bool is_inherited; /* the process has it from the one that forked it (table.h) */
    bool is_shared;    /* with other processes (table.h) */
    bool is_promised;  /* what is touched of it goes to the fast tier, by a policy of its own */
};

struct hm_watch_ranges { /* in ascending order */
    struct hm_watch_range *range;
    size_t n;
};

struct hm_watched {
    struct hm_process process;
    int fd;                             /* of its file */
    char name[32];                      /* of its file */
    bool has_changes;                   /* `now` was read */
    uint64_t read_ns;                   /* the look after which that was */
    double cpu_s;                       /* that it has used, as far as it was looked at (sites/online) */
    unsigned changes;                   /* of the file, when `now` was read */
    struct hm_watch_ranges now, before; /* its memory when it was last read, and the time before */
};

struct hm_watch_heat {
    double samples, reads, writes;
    struct hm_slices large, ordered; /* where in large allocations, and where in the order of the others */
};

/* Accesses that a source has seen: to a byte, or to a region of pages. */
struct hm_watch_hit {
    uint64_t start, end;  /* addresses */
    uint64_t mapped;      /* bytes of these that are memory; the rest is holes */
    double reads, writes; /* in units of the source; where it does not tell them apart, all are reads */
    double samples;       /* behind them, as counted ones */
    bool is_saturated;    /* there may be more, and nobody knows how many */
};

struct hm_watch_sampled {
    bool is_known;  /* accesses were sampled */
    bool is_looked; /* by looks at regions, which do not tell reads from writes */
};

struct hm_watch_class {              /* of small allocations, of all processes */
    uint64_t allocations;            /* of those that have ended */
    uint64_t live_bytes, peak_bytes; /* as far as they were looked at */
    double byte_s;
};

struct hm_watch {
    char folder[HM_SITES_PATH];
    int folder_fd; /* holds the folder, where there is one */
    uint64_t least_bytes;
    struct hm_sites_table *table;
    uint64_t began_ns, looked_ns; /* CLOCK_MONOTONIC */
    uint64_t n_files;             /* of processes, when the folder was last read */
    struct hm_watched *watched;
    size_t n;
    struct hm_watch_class class[HM_SITES_CLASSES];
    struct hm_watch_heat heat[HM_SITES_ENTRIES];
    double samples;
    double elsewhere, saturated; /* accesses: to no site's memory, and those that may be more (hm_watch_hit) */
    uint64_t peak_bytes;
};

/* Makes the folder, on a file system in memory where there is one, and the table. Returns 0, or -1 with a text. */
int hm_watch_open(struct hm_watch *watch, uint64_t least_bytes, struct hm_error *error);
/* The program starts now. */
void hm_watch_begin(struct hm_watch *watch);
/* Looks at all processes. Returns whether one has come or gone. */
bool hm_watch_look(struct hm_watch *watch);
/* Has the program cut off the table? Then what was in it is lost. */
bool hm_watch_is_torn(void);
/* Counts accesses by a process that is known. */
void hm_watch_hit(struct hm_watch *watch, pid_t pid, const struct hm_watch_hit *hit);
/* Forgets the accesses that were counted so far. */
void hm_watch_forget_hits(struct hm_watch *watch);
/* All processes have ended, as far as the profile goes. */
void hm_watch_end(struct hm_watch *watch);
/* Puts sites, objects and sums into the profile. Returns 0, or -1 (ENOMEM). */
int hm_watch_report(const struct hm_watch *watch, const struct hm_watch_sampled *sampled, struct hm_profile *profile);
/* Removes all files. */
void hm_watch_close(struct hm_watch *watch);

/* Reads the process's memory into `now`, where it has changed since the last look. */
void hm_watch_refresh(struct hm_watch *watch, struct hm_watched *watched);
/* The process's memory, read from its file; n is 0 where that fails. The caller frees `range`. */
struct hm_watch_ranges hm_watch_read_ranges(int fd);

#endif
