/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of accesses by page, for one phase of a trace. */
#ifndef HM_MIGRATOR_RECORDING_PAGECOUNTS_H
#define HM_MIGRATOR_RECORDING_PAGECOUNTS_H

#include <stddef.h>
#include <stdint.h>

struct hm_page_counts {
    uint64_t page;
    uint32_t raw_reads, raw_writes, mem_reads, mem_writes; /* as in a trace */
};

struct hm_pagecounts { /* begins as {0} */
    struct hm_page_counts *slot;
    size_t n, room;
};

/* The counts of a page (below UINT64_MAX), which begin with 0. Valid until the next call. Returns NULL: no memory. */
struct hm_page_counts *hm_pagecounts_at(struct hm_pagecounts *counts, uint64_t page);
/* Sorts the pages: then slot[0] to slot[n - 1] ascend. The next call has to be hm_pagecounts_clear or _free. */
void hm_pagecounts_sort(struct hm_pagecounts *counts);
/* Forgets all pages. Keeps the memory. */
void hm_pagecounts_clear(struct hm_pagecounts *counts);
void hm_pagecounts_free(struct hm_pagecounts *counts);

#endif
