/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the kernel's tracepoint damon:damon_aggregated from a perf ring buffer. The kernel writes one record for each
 * region in each aggregation; here the records are put together into complete lists of regions. sysfs has the same data
 * (update_schemes_tried_regions), but there the reader waits for more than an aggregation, only one reader on the
 * system can wait, and regions do not name their process. Pure.
 */
#ifndef HM_MIGRATOR_DAMON_GATHERING_H
#define HM_MIGRATOR_DAMON_GATHERING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tune.h"

enum hm_damon_field {
    HM_DAMON_FIELD_TARGET,
    HM_DAMON_FIELD_COUNT,
    HM_DAMON_FIELD_START,
    HM_DAMON_FIELD_END,
    HM_DAMON_FIELD_ACCESSES,
    HM_DAMON_FIELDS
};

/* Where a record has its fields. */
struct hm_damon_layout {
    uint32_t id; /* of the tracepoint */
    struct {
        uint16_t offset, size; /* bytes */
    } field[HM_DAMON_FIELDS];
};

/* One process's regions of one aggregation, while their records come in. */
struct hm_damon_gathering {
    bool is_open;       /* the list was begun, and is not complete */
    uint32_t target;    /* index of the process in its context */
    uint32_t wanted, n; /* regions of the complete list, and regions so far */
    uint64_t time_ns;   /* CLOCK_MONOTONIC of the last record */
    struct hm_damon_found {
        uint64_t start, end; /* addresses */
        uint32_t accesses;   /* number of looks that found an access */
    } region[HM_DAMON_MOST_REGIONS];
};

/* Called with each complete list. */
typedef void hm_damon_gathering_sink(void *data, const struct hm_damon_gathering *list);

/*
 * Parses the tracepoint's `format` file. Returns 0, or -1 (EBADMSG) with a text that names the field that is missing,
 * or whose size or offset is not that of a number in a record.
 */
int hm_damon_layout_parse(const char *text, struct hm_damon_layout *layout, struct hm_error *error);

/*
 * Reads the records, which begin with their time, from `tail` to `head` of a ring of `size` bytes, a power of two. Both
 * positions count all bytes ever written, as perf does. A list whose end is not there yet stays in `gathering` for the
 * next call; a list that the next one or a loss interrupts is dropped. *lost is increased by the number of records that
 * the kernel dropped, and by 1 for each list that the next one interrupts. Lists with more than HM_DAMON_MOST_REGIONS
 * regions are ignored. Returns the new tail, which is `head`.
 */
uint64_t hm_damon_gathering_read(const struct hm_damon_layout *layout, const uint8_t *ring, size_t size, uint64_t tail,
                                 uint64_t head, struct hm_damon_gathering *gathering, uint64_t *lost,
                                 hm_damon_gathering_sink *sink, void *data);

#endif
