/* SPDX-License-Identifier: Apache-2.0 */
#include "recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "migrator/decide/decide.h"
#include "migrator/replay/trace.h"

#define PAGE_SHIFT 12
#define LINES_SHIFT (PAGE_SHIFT - HM_LINE_SHIFT) /* a page has 2^6 lines */
#define ADDRESS_BITS (HM_RECORDING_PAGE_BITS + PAGE_SHIFT)
#define ROW 128 /* room for a row */

_Static_assert(1 << PAGE_SHIFT == HM_TRACE_PAGE, "pages are those of traces");
_Static_assert(HM_RECORDING_SPACES == 1u << (HM_PAGE_BITS - HM_RECORDING_PAGE_BITS),
               "the number of a process and that of a page make the number of a page in a trace");

int hm_recording_init(struct hm_recording *recording, const char *path, uint64_t phase_accesses, uint64_t cache_bytes,
                      struct hm_error *error)
{
    *recording = (struct hm_recording){.phase_accesses = phase_accesses, .writer = {.file = {.fd = -1}, .rows = -1}};
    recording->cache = hm_linecache_new(cache_bytes, error);
    return recording->cache ? hm_tracewriter_open(&recording->writer, path, error) : -1;
}

static int fail_memory(struct hm_error *error)
{
    return hm_fail(error, ENOMEM, "no memory for the counts of a phase");
}

/* Writes the rows of the present phase, and begins the next. */
static int end_phase(struct hm_recording *recording, struct hm_error *error)
{
    hm_pagecounts_sort(&recording->counts);
    for (size_t i = 0; i < recording->counts.n; i++) {
        const struct hm_page_counts *counts = &recording->counts.slot[i];
        char row[ROW];
        int length = snprintf(row, sizeof(row), "%" PRIu64 ",%" PRIx64 ",%u,%u,%u,%u\n", recording->phase, counts->page,
                              counts->raw_reads, counts->raw_writes, counts->mem_reads, counts->mem_writes);
        if (hm_tracewriter_put(&recording->writer, row, (size_t)length, error) != 0)
            return -1;
    }
    recording->n_rows += recording->counts.n;
    hm_pagecounts_clear(&recording->counts);
    recording->phase++;
    recording->in_phase = 0;
    return 0;
}

/* Sends the lines of an access through the cache. */
static int count_lines(struct hm_recording *recording, uint64_t first, uint64_t last, bool is_store,
                       struct hm_error *error)
{
    for (uint64_t line = first; line <= last; line++) {
        uint64_t written;
        if (hm_linecache_touch(recording->cache, line, is_store, &written)) {
            struct hm_page_counts *counts = hm_pagecounts_at(&recording->counts, line >> LINES_SHIFT);
            if (!counts)
                return fail_memory(error);
            counts->mem_reads++;
            recording->sums.mem_reads++;
        }
        if (written != HM_LINECACHE_NONE) {
            struct hm_page_counts *counts = hm_pagecounts_at(&recording->counts, written >> LINES_SHIFT);
            if (!counts)
                return fail_memory(error);
            counts->mem_writes++;
            recording->sums.mem_writes++;
        }
    }
    return 0;
}

int hm_recording_add(struct hm_recording *recording, const struct hm_access *access, struct hm_error *error)
{
    uint64_t end = access->address + access->size - 1;
    if (access->space >= HM_RECORDING_SPACES || end >> ADDRESS_BITS || end < access->address) {
        recording->sums.left_out++;
        return 0;
    }
    uint64_t space = (uint64_t)access->space << ADDRESS_BITS;
    struct hm_page_counts *counts = hm_pagecounts_at(&recording->counts, (space | access->address) >> PAGE_SHIFT);
    if (!counts)
        return fail_memory(error);
    counts->raw_reads += !access->is_store;
    counts->raw_writes += access->is_store;
    recording->sums.raw_reads += !access->is_store;
    recording->sums.raw_writes += access->is_store;
    if (count_lines(recording, (space | access->address) >> HM_LINE_SHIFT, (space | end) >> HM_LINE_SHIFT,
                    access->is_store, error) != 0)
        return -1;
    return ++recording->in_phase == recording->phase_accesses ? end_phase(recording, error) : 0;
}

int hm_recording_end(struct hm_recording *recording, struct hm_error *error)
{
    return recording->in_phase > 0 ? end_phase(recording, error) : 0;
}

void hm_recording_free(struct hm_recording *recording)
{
    hm_linecache_free(recording->cache);
    hm_pagecounts_free(&recording->counts);
    hm_tracewriter_close(&recording->writer);
}
