/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what `hybridmem meter` shows: the sources of a node's counters, and their figures. Pure except for streams. */
#ifndef HM_CLI_METER_PRINT_H
#define HM_CLI_METER_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/draw/screen.h"
#include "meter/sources/flow.h"

struct hm_meter_reading {
    const char *host;
    int64_t time_s; /* since 1970 */
    double seconds; /* since the last reading; 0: there is none */
    const struct hm_flow *flow;
    int n; /* number of flows */
};

struct hm_meter_sources {
    const char *host;
    const struct hm_counters_tried *tried;
    int n; /* number of sources that were tried */
    const struct hm_gauges *gauges;
};

static inline bool hm_meter_is_energy(const struct hm_flow *flow)
{
    return *hm_quantity_unit(flow->quantity) == 'J';
}

/* Whether the flow's amount since the last reading is known. */
static inline bool hm_meter_is_known(const struct hm_meter_reading *reading, const struct hm_flow *flow)
{
    return reading->seconds > 0 && hm_total_is_known(&flow->total);
}

/*
 * Prints for each source what it is, and whether it works here or why not. Lines are broken at `columns`, unless it is
 * 0.
 */
void hm_meterprint_list(FILE *out, const struct hm_meter_sources *sources, size_t columns);
/* Prints the same as one JSON object on several lines. Returns 0, or -1. */
int hm_meterprint_list_json(FILE *out, const struct hm_meter_sources *sources);

/*
 * Prints lines that begin with "#": the source of each flow, or why it has none. Long reasons are cut, as the list has
 * them in full. Flows with the same reason share a line.
 */
void hm_meterprint_legend(FILE *out, const struct hm_meter_reading *reading);
/* Prints one line. An unknown amount is "-"; if its flow has a source, the reason is at the end of the line. */
void hm_meterprint_line(FILE *out, const struct hm_meter_reading *reading);
/* Prints all lines of a screen, which the caller has cleared (hm_screen_clear); flows that find no room on it are left
 * out. An unknown amount is "-"; the reason is at the end of the line, cut at the screen's edge. Where two flows have
 * no source for the same reason, the later one has "as NAME" instead, which names the earlier one. */
void hm_meterprint_screen(FILE *out, const struct hm_meter_reading *reading, const struct hm_screen *screen);
/* Prints one JSON object and a newline. Returns 0, or -1. */
int hm_meterprint_json(FILE *out, const struct hm_meter_reading *reading);

#endif
