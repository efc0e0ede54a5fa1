/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of samples. Each is a row of one table that says what it needs, what it knows and what it costs. A
 * migrator opens a source, tells it which processes come and go, and reads observations in batches.
 */
#ifndef HM_MIGRATOR_SOURCES_SOURCE_H
#define HM_MIGRATOR_SOURCES_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "core/request/sources.h"
#include "core/topology/topology.h"
#include "migrator/decide/decide.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"

struct hm_source_setup {
    uint64_t period;      /* wanted accesses per sample; 0: the source chooses */
    double overhead;      /* CPU time for sampling and the migrator together, as a share (0..1) of the step's CPUs */
    unsigned n_cpus;      /* of the step */
    unsigned interval_ms; /* length of a phase */
    char broker[256];     /* path of the DAMON broker's socket; "": there is none */
    bool borrows;         /* of the broker, where the user may open no events: those of the source clock */
    /* Descriptor; when readable, the source stops waiting for answers: opening fails with ECANCELED, and reading may
     * end the source; -1: none. It stays open as long as the source. */
    int stop;
};

/* The state of a source, for the record. */
struct hm_source_state {
    char name[HM_SOURCE_NAME];
    uint64_t period; /* in use: accesses per sample, or with is_time microseconds between looks; may change */
    uint64_t unit;   /* accesses that 1.0 in an observation's reads or writes stands for; does not change */
    bool is_time;
    bool knows_writes;
    double error;       /* relative error of heat that more samples do not reduce, 0..1 (hm_decider_options) */
    bool counts_memory; /* observations count accesses to memory; false: caches may have served them */
    /* lost: records that the kernel dropped, or times that SPE said that some are missing; throttled: times that the
     * kernel reduced the rate */
    uint64_t samples, lost, throttled;
    bool has_rounds; /* it looks at one part of the memory after the other, and has looked at all of it in a round */
    uint64_t rounds; /* those that have ended */
    unsigned ways; /* how often it began to look in another way: what it said before cannot be compared with the rest */
    double kernel_cpu_s;     /* CPU time for the source outside this process (kdamond, broker); negative: not known */
    char partly[HM_WARNING]; /* how much of the step it watches, for a warning; "": all, or it is not told yet */
    char how[128];           /* how it watches, and why so, for the record; "": nothing to say */
};

/* Takes observations as they are read. */
typedef void hm_source_sink(void *data, const struct hm_observation *observations, size_t count);

struct hm_source;

/* A row of the table. Each source's `open` allocates a struct of its own that begins with struct hm_source. */
struct hm_source_row {
    const char *name;  /* the value of the key source= */
    const char *needs; /* for a user */
    const char *knows; /* for a user: "address, load or store, for each sample" */
    const char *cost;  /* for a user; with the origin of its figures */
    /*
     * Opens the source. If it cannot be opened, returns NULL with a text for the record that says what is missing, and
     * leaves nothing behind.
     */
    struct hm_source *(*open)(const struct hm_source_setup *setup, struct hm_error *error);
    /* For a source that sees more if root has opened it: what hm_source_prepare and hm_source_forget do. Else NULL. */
    void (*prepare)(const struct hm_source_setup *setup, const char *cgroup);
    void (*forget)(void);
};

/* The beginning of each source's struct. */
struct hm_source {
    const struct hm_source_row *row;
    struct hm_source_state state;
    /*
     * Begins to watch new processes, and stops for those that are gone. `maps` are the movable ranges: those
     * of a process are at the index of its space, the number that it has in `ranks`. A process that cannot be watched,
     * or not all of it, is marked (hm_rank.has_unseen). Returns 0, or -1 if the source has ended (the caller opens the
     * next best).
     */
    int (*update)(struct hm_source *source, const struct hm_ranks *ranks, const struct hm_maps *maps,
                  struct hm_error *error);
    /* Passes on all samples that there are. Never waits. Returns 0, or -1 as above. */
    int (*read)(struct hm_source *source, const struct hm_ranks *ranks, hm_source_sink *sink, void *data,
                struct hm_error *error);
    pid_t helper;     /* a process that works for the source, and is none of the step's; 0: none */
    int fd;           /* becomes readable when there is much to read; -1: there is none */
    unsigned poll_ms; /* the source is read at the end of each phase, and also this often; 0: at no fixed interval */
    void (*close)(struct hm_source *source);
};

/* The rows, best first; NULL past the last. */
const struct hm_source_row *hm_source_at(int n);
/* Writes "auto, perf, clock, damon, idle or faults", for error texts and help. Returns `out`. */
char *hm_source_names(char *out, size_t size);

/*
 * Opens the source of this name, or for "auto" the best that works; `why` (HM_WARNING bytes) then becomes the reason
 * why better ones do not work, "" if the best one does. Returns NULL with a text if it cannot be opened, if there is no
 * source of this name, or if none works.
 */
struct hm_source *hm_source_open(const char *name, const struct hm_source_setup *setup, char *why,
                                 struct hm_error *error);

/*
 * Called by root, before it becomes the job's user: prepares the sources for which this makes a difference to watch
 * this cgroup. Nothing is watched before a source is opened. What cannot be prepared is opened later with the user's
 * own rights.
 */
void hm_source_prepare(const struct hm_source_setup *setup, const char *cgroup);
/* Closes what was prepared and is not in use. */
void hm_source_forget(void);

#endif
