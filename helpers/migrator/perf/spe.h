/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes what Arm's Statistical Profiling Extension (SPE) writes into memory: records of sampled operations, each of
 * them a row of packets. The format is that of Arm's Architecture Reference Manual (DDI 0487), chapter "Statistical
 * Profiling Extension sample record specification". Pure. Whatever the bytes are, nothing outside of them is read.
 */
#ifndef HM_MIGRATOR_PERF_SPE_H
#define HM_MIGRATOR_PERF_SPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HM_SPE_RECORD_MOST 2048 /* bytes of the longest record: the largest value of PMSIDR_EL1.MaxSize */

/* A load or store that was executed, with its address. */
struct hm_spe_record {
    uint64_t address; /* virtual; its top byte is no tag, but copies of bit 55, which the kernel's addresses have set */
    uint32_t latency; /* cycles from dispatch to completion; 0: not told */
    bool is_store;    /* also for atomic operations, which read and write */
    bool is_user;     /* executed at exception level 0, or the level was not told */
    bool missed_cache; /* the last level of cache did not have the data */
};

/* Sums over all calls. */
struct hm_spe_counts {
    uint64_t records;
    uint64_t others; /* sound records that are not given: no load or store, no address, or not executed to its end */
    uint64_t torn;   /* times that bytes made no sense, or ended within a record */
};

/*
 * Reads records from data[*at] on, until data[end], or until `room` records were read; then *at is after the last one.
 * `data` is the begin of the memory that the hardware writes to, as packets are aligned in it (at least to a page).
 * Bytes that make no sense, and all up to the next end of a record, are skipped and counted as torn, as is a record
 * that does not end before `end`. A record makes no sense if it is longer than HM_SPE_RECORD_MOST, or has a second type
 * of operation, data address or set of events. Returns the number of records in `out`.
 */
size_t hm_spe_decode(const void *data, size_t end, size_t *at, struct hm_spe_record *out, size_t room,
                     struct hm_spe_counts *counts);

#endif
