/* SPDX-License-Identifier: Apache-2.0 */
#include "gathering.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>

#define MOST_RECORD 512 /* bytes; longer records are skipped; those of the tracepoint have 72 */
#define RAW 12          /* bytes before a record's raw data: its time, and the length of the data */

static const char *const names[] = {
    [HM_DAMON_FIELD_TARGET] = " target_id;",     [HM_DAMON_FIELD_COUNT] = " nr_regions;",
    [HM_DAMON_FIELD_START] = " start;",          [HM_DAMON_FIELD_END] = " end;",
    [HM_DAMON_FIELD_ACCESSES] = " nr_accesses;",
};

int hm_damon_layout_parse(const char *text, struct hm_damon_layout *layout, struct hm_error *error)
{
    const char *id = strstr(text, "\nID: ");
    memset(layout, 0, sizeof(*layout));
    if (!id || sscanf(id, "\nID: %u", &layout->id) != 1)
        return hm_fail(error, EBADMSG, "the tracepoint damon_aggregated has no ID in its format");
    for (int f = 0; f < HM_DAMON_FIELDS; f++) {
        unsigned offset, size;
        const char *found = strstr(text, names[f]);
        if (!found || sscanf(found + strlen(names[f]), " offset:%u; size:%u;", &offset, &size) != 2 ||
            (size != 4 && size != 8) || offset > MOST_RECORD - 64)
            return hm_fail(error, EBADMSG, "the tracepoint damon_aggregated has no number%.16s in its format",
                           names[f]);
        layout->field[f].offset = (uint16_t)offset;
        layout->field[f].size = (uint16_t)size;
    }
    return 0;
}

static void copy_out(const uint8_t *ring, size_t size, uint64_t at, void *out, size_t length)
{
    size_t start = (size_t)(at & (size - 1));
    size_t first = length < size - start ? length : size - start;
    memcpy(out, ring + start, first);
    memcpy((uint8_t *)out + first, ring, length - first);
}

/* Returns false if the record is too short for the field. */
static bool take_field(const struct hm_damon_layout *layout, enum hm_damon_field field, const uint8_t *raw,
                       uint32_t length, uint64_t *value)
{
    uint32_t word;
    unsigned offset = layout->field[field].offset, size = layout->field[field].size;
    if (offset + size > length)
        return false;
    if (size == sizeof(word)) {
        memcpy(&word, raw + offset, sizeof(word));
        *value = word;
    } else {
        memcpy(value, raw + offset, sizeof(*value));
    }
    return true;
}

static void add_region(const struct hm_damon_layout *layout, const uint8_t *raw, uint32_t length,
                       struct hm_damon_gathering *gathering, uint64_t *lost, hm_damon_gathering_sink *sink, void *data)
{
    uint64_t value[HM_DAMON_FIELDS];
    for (int f = 0; f < HM_DAMON_FIELDS; f++)
        if (!take_field(layout, (enum hm_damon_field)f, raw, length, &value[f]))
            return;
    uint64_t start = value[HM_DAMON_FIELD_START], end = value[HM_DAMON_FIELD_END];
    bool follows = gathering->is_open && value[HM_DAMON_FIELD_TARGET] == gathering->target &&
                   value[HM_DAMON_FIELD_COUNT] == gathering->wanted && gathering->n > 0 &&
                   start >= gathering->region[gathering->n - 1].end;
    if (!follows) {
        *lost += gathering->is_open;
        gathering->is_open = value[HM_DAMON_FIELD_COUNT] <= HM_DAMON_MOST_REGIONS;
        gathering->target = (uint32_t)value[HM_DAMON_FIELD_TARGET];
        gathering->wanted = (uint32_t)value[HM_DAMON_FIELD_COUNT];
        gathering->n = 0;
    }
    if (!gathering->is_open || end <= start || gathering->n >= gathering->wanted)
        return;
    gathering->region[gathering->n++] =
        (struct hm_damon_found){.start = start, .end = end, .accesses = (uint32_t)value[HM_DAMON_FIELD_ACCESSES]};
    if (gathering->n == gathering->wanted) {
        gathering->is_open = false;
        sink(data, gathering);
    }
}

uint64_t hm_damon_gathering_read(const struct hm_damon_layout *layout, const uint8_t *ring, size_t size, uint64_t tail,
                                 uint64_t head, struct hm_damon_gathering *gathering, uint64_t *lost,
                                 hm_damon_gathering_sink *sink, void *data)
{
    struct perf_event_header header;
    uint8_t record[MOST_RECORD];
    if (head - tail > size) /* the positions make no sense: drop everything */
        tail = head;
    while (head - tail >= sizeof(header)) {
        copy_out(ring, size, tail, &header, sizeof(header));
        if (header.size < sizeof(header) || header.size > head - tail)
            return head;
        uint32_t length = header.size - (uint32_t)sizeof(header), raw = 0;
        copy_out(ring, size, tail + sizeof(header), record, length < MOST_RECORD ? length : MOST_RECORD);
        tail += header.size;
        if (length > MOST_RECORD)
            continue;
        if (header.type == PERF_RECORD_LOST && length >= 16) {
            uint64_t dropped;
            memcpy(&dropped, record + 8, sizeof(dropped));
            *lost += dropped;
            gathering->is_open = false;
        } else if (header.type == PERF_RECORD_SAMPLE && length >= RAW) {
            memcpy(&gathering->time_ns, record, sizeof(gathering->time_ns));
            memcpy(&raw, record + sizeof(gathering->time_ns), sizeof(raw));
            if (raw <= length - RAW)
                add_region(layout, record + RAW, raw, gathering, lost, sink, data);
        }
    }
    return head;
}
