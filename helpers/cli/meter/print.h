/* SPDX-License-Identifier: Apache-2.0 */
/* What `hybridmem meter` shows: the sources of a node's counters, and what flows. Pure but for the stream. */
#ifndef HM_CLI_METER_PRINT_H
#define HM_CLI_METER_PRINT_H

#include <stdint.h>
#include <stdio.h>

#include "cli/draw/screen.h"
#include "meter/sources/flow.h"

struct hm_meter_reading {
    const char *host;
    int64_t time_s; /* since 1970 */
    double seconds; /* since the reading before; 0: there is none */
    const struct hm_flow *flow;
    int n;
};

struct hm_meter_sources {
    const char *host;
    const struct hm_counters_tried *tried;
    int n;
    const struct hm_gauges *gauges;
};

/* Each source: does it work here, why not, what it is. Lines are broken at so many columns, 0: nowhere. */
void hm_meterprint_list(FILE *out, const struct hm_meter_sources *sources, size_t columns);
/* The same as one JSON object, on several lines. Returns 0, or -1. */
int hm_meterprint_list_json(FILE *out, const struct hm_meter_sources *sources);

/* Lines that start with "#": where each flow is from, or why there is nothing, a long reason cut, for the list has all,
 * and once for those that it is alike of. */
void hm_meterprint_legend(FILE *out, const struct hm_meter_reading *reading);
/* One line; "-" and, behind all, the reason where an amount is not known that has a source. */
void hm_meterprint_line(FILE *out, const struct hm_meter_reading *reading);
/* A screen that is written anew; reasons as in the legend. */
void hm_meterprint_screen(FILE *out, const struct hm_meter_reading *reading, const struct hm_screen *screen);
/* One JSON object and a newline. Returns 0, or -1. */
int hm_meterprint_json(FILE *out, const struct hm_meter_reading *reading);

#endif
