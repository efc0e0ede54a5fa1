/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's tracepoint damon:damon_aggregated out of a perf ring buffer: one record per region and aggregation, put
 * together to whole lists of regions. (The sysfs way to the same, update_schemes_tried_regions, holds its writer for an
 * aggregation and more, one on the whole system at a time, and does not say to which process a region belongs.) Pure.
 */
#ifndef HM_MIGRATOR_DAMON_TRACE_H
#define HM_MIGRATOR_DAMON_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tune.h"
#include "wire.h"

enum hm_damon_field {
    HM_DAMON_FIELD_TARGET,
    HM_DAMON_FIELD_COUNT,
    HM_DAMON_FIELD_START,
    HM_DAMON_FIELD_END,
    HM_DAMON_FIELD_ACCESSES,
    HM_DAMON_FIELD_AGE,
    HM_DAMON_FIELDS
};

/* Where the fields are in a record. */
struct hm_damon_layout {
    uint32_t id; /* of the tracepoint */
    struct {
        uint16_t offset, size; /* bytes */
    } field[HM_DAMON_FIELDS];
};

/* One process's regions in one aggregation, while they come in. */
struct hm_damon_gathering {
    bool is_open;
    uint32_t target; /* index of the process in its context */
    uint32_t wanted, n;
    struct hm_damon_region region[HM_DAMON_MOST_REGIONS];
};

/* Takes a whole list. */
typedef void hm_damon_trace_sink(void *data, const struct hm_damon_gathering *list);

/* Read the tracepoint's `format` file. Returns 0, or -1 (EBADMSG) with a text that names the field that is missing. */
int hm_damon_layout_parse(const char *text, struct hm_damon_layout *layout, struct hm_error *error);

/*
 * Read the records from `tail` to `head` (as perf counts: never wrapped) of a ring of `size` bytes, a power of two.
 * Lists that are not whole are dropped. *lost grows by the records that the kernel dropped and by lists that are not
 * whole. Returns the new tail, at most `head`.
 */
uint64_t hm_damon_trace_read(const struct hm_damon_layout *layout, const uint8_t *ring, size_t size, uint64_t tail,
                             uint64_t head, struct hm_damon_gathering *gathering, uint64_t *lost,
                             hm_damon_trace_sink *sink, void *data);

#endif
