/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where samples come from: each source is a row of one table with what it needs, what it knows and what it costs. A
 * source is opened once per migrator, told of processes that come and go, and read in batches.
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
    uint64_t period;      /* accesses per sample that are wanted; 0: the source's own choice */
    double overhead;      /* CPU budget of sampling, as a share (0..1) of the CPUs of the step */
    unsigned n_cpus;      /* of the step */
    unsigned interval_ms; /* length of a phase */
    char broker[256];     /* path of the DAMON broker's socket, "" none */
    int stop;             /* opening waits for nobody (ECANCELED) once this descriptor can be read; -1: there is none */
};

/* What the record says of a source. */
struct hm_source_state {
    char name[HM_SOURCE_NAME];
    uint64_t period; /* in use: accesses per sample, or microseconds between looks (is_time); may change */
    uint64_t unit;   /* accesses that 1.0 of an observation stands for: fixed from the opening on */
    bool is_time;
    bool knows_writes;
    double error;                      /* of two pages' heat, that no number of looks shows: hm_decider_options */
    bool counts_memory;                /* observations are of accesses to memory; false: caches may have served them */
    uint64_t samples, lost, throttled; /* lost: records the kernel dropped; throttled: times it cut the rate */
    double kernel_cpu_s; /* CPU time spent for it outside of this process (kdamond, the broker); negative: not known */
    char how[128];       /* how it watches and why so, for the record: "" where there is nothing to say */
};

/* Takes observations as they are read. */
typedef void hm_source_sink(void *data, const struct hm_observation *observations, size_t count);

struct hm_source;

/* What a source does; `hm_source` embeds its own data (container: each source allocates its own struct). */
struct hm_source_row {
    const char *name;  /* the word of source= */
    const char *needs; /* in words for a user */
    const char *knows; /* "address, load or store, level" */
    const char *cost;  /* in words, with the figure's source */
    /* Returns a source, or NULL with a text that says what is missing: the reason in the record. Leaves nothing behind.
     */
    struct hm_source *(*open)(const struct hm_source_setup *setup, struct hm_error *error);
};

/* Each source's struct begins with this. */
struct hm_source {
    const struct hm_source_row *row;
    struct hm_source_state state;
    /* Attach what is new, drop what is gone; `maps`: what may be moved, by rank. A process that cannot be watched is
     * skipped. Returns 0, or -1 where the source as a whole has ended (the caller opens the next best). */
    int (*update)(struct hm_source *source, const struct hm_ranks *ranks, const struct hm_maps *maps,
                  struct hm_error *error);
    /* Hand over all there is. Never waits. Returns 0, or -1 as above. */
    int (*read)(struct hm_source *source, const struct hm_ranks *ranks, hm_source_sink *sink, void *data,
                struct hm_error *error);
    /* Descriptor that becomes readable when reading is due, or -1: read at the end of phases and every poll_ms. */
    int fd;
    unsigned poll_ms; /* 0: only at the end of phases */
    void (*close)(struct hm_source *source);
};

/* The rows, best first; NULL past the last. */
const struct hm_source_row *hm_source_at(int n);
/* "auto, perf, damon or faults": for error texts and help. Returns `out`. */
char *hm_source_names(char *out, size_t size);

/*
 * Open the source of this name, or, for "auto", the best that works; `why` (HM_WARNING bytes) then gets why better ones
 * do not work, "" where the best one does. Returns NULL with a text where none does.
 */
struct hm_source *hm_source_open(const char *name, const struct hm_source_setup *setup, char *why,
                                 struct hm_error *error);

#endif
