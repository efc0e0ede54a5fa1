/* SPDX-License-Identifier: Apache-2.0 */
/* Page traces: access counts by page and phase, as text, plain or compressed with zstd. */
#ifndef HM_MIGRATOR_REPLAY_TRACE_H
#define HM_MIGRATOR_REPLAY_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HM_TRACE_PAGE 4096 /* bytes of a page, whatever the kernel's pages were where the trace was recorded */
/* Bytes of a trace's text, unpacked: some 200 million rows, as of 1000 phases that touch 800 MiB each. That is two
 * hundred times the largest trace of tests/fixtures/traces. A replay has all rows in memory. */
#define HM_TRACE_MOST ((size_t)4 << 30)
/* The line before the first row. */
#define HM_TRACE_COLUMNS "phase,page_hex,raw_reads,raw_writes,mem_reads,mem_writes"

struct hm_trace_row {
    uint32_t page;                  /* index into hm_trace.page */
    uint32_t raw_reads, raw_writes; /* loads and stores */
    uint32_t mem_reads, mem_writes; /* those of them that reach memory, as no cache serves them */
};

struct hm_trace_phase {
    size_t first, count; /* rows */
};

struct hm_trace {
    char app[64];            /* "" if the header does not tell */
    uint64_t phase_accesses; /* raw accesses in a phase; 0 if the header does not tell */
    double phase_s;          /* seconds that a phase took; 0 if the header does not tell */
    size_t n_pages;
    uint64_t *page; /* page numbers, ascending */
    size_t n_rows;
    struct hm_trace_row *row; /* by phase, then page */
    size_t n_phases;
    struct hm_trace_phase *phase;
};

/*
 * Reads a trace from a regular file. Returns 0 (free with hm_trace_free), or -1: errno of open(2) or read(2); EINVAL
 * for what is no such file; E2BIG for more than HM_TRACE_MOST; ENOMEM; EBADMSG with "FILE:LINE: ..." for a malformed
 * text (a page twice in a phase, pages or phases out of order, a number too large ...), or with "FILE: ..." for an
 * archive that is cut or damaged.
 */
int hm_trace_read(const char *path, struct hm_trace *trace, struct hm_error *error);
/* The same with another limit. */
int hm_trace_read_most(const char *path, size_t most, struct hm_trace *trace, struct hm_error *error);
/* Parses text in memory in the same way. `path` is only used in error texts. */
int hm_trace_parse(const char *path, const char *text, size_t length, struct hm_trace *trace, struct hm_error *error);
void hm_trace_free(struct hm_trace *trace);

#endif
