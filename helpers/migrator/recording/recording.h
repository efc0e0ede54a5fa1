/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a trace of accesses: counts them by page, sends them through the model of a cache, and writes the counts out at
 * the end of each phase. Its memory grows with the pages of one phase, not with the length of the run.
 */
#ifndef HM_MIGRATOR_RECORDING_RECORDING_H
#define HM_MIGRATOR_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "linecache.h"
#include "pagecounts.h"
#include "tracewriter.h"

/* A trace has one column of addresses: the number of the process is in the upper bits of page numbers, which leaves 36
 * bits for addresses below 2^48. */
#define HM_RECORDING_PAGE_BITS 36
#define HM_RECORDING_SPACES (1u << 10)
/* Most accesses of a phase: an access of 512 bytes may reach ten lines, and the counts of a page are below 2^32. */
#define HM_RECORDING_MOST UINT64_C(400000000)

struct hm_recording_sums {
    uint64_t raw_reads, raw_writes, mem_reads, mem_writes;
    uint64_t left_out; /* accesses that cannot be in a trace: of a process too many, or above 2^48 */
};

struct hm_recording {
    uint64_t phase_accesses;
    uint64_t phase, in_phase; /* the number of the present phase, and how many accesses it has so far */
    uint64_t n_rows;
    struct hm_linecache *cache;
    struct hm_pagecounts counts;
    struct hm_recording_sums sums;
    struct hm_tracewriter writer;
};

/* One load or store. */
struct hm_access {
    uint32_t space; /* number of the process, from 0 on */
    uint64_t address;
    unsigned size; /* bytes, 1 to 512; it counts for the page of its first byte */
    bool is_store;
};

/*
 * Begins a trace in a file; phase_accesses is 1 .. HM_RECORDING_MOST. Returns 0, or -1 as hm_tracewriter_open and
 * hm_linecache_new. hm_recording_free has to follow, whatever is returned.
 */
int hm_recording_init(struct hm_recording *recording, const char *path, uint64_t phase_accesses, uint64_t cache_bytes,
                      struct hm_error *error);
/* Takes an access. Returns 0, or -1: ENOMEM, or the phase cannot be written. */
int hm_recording_add(struct hm_recording *recording, const struct hm_access *access, struct hm_error *error);
/* Writes the last phase. Returns 0, or -1. Then hm_tracewriter_end puts the file in place. */
int hm_recording_end(struct hm_recording *recording, struct hm_error *error);
void hm_recording_free(struct hm_recording *recording);

#endif
