/* SPDX-License-Identifier: Apache-2.0 */
#include "meterprint.h"

#include <string.h>

#include "../core/moment.h"

#define NAME_WIDTH 16
#define AMOUNT 32

static bool is_energy(const struct hm_flow *flow)
{
    return *hm_quantity_unit(flow->quantity) == 'J';
}

static bool is_known(const struct hm_meter_reading *reading, const struct hm_flow *flow)
{
    return reading->seconds > 0 && hm_total_is_known(&flow->total);
}

/* "85.3 W", "1204.5 MB/s", or "-". Returns `out`. */
static char *format_rate(const struct hm_meter_reading *reading, const struct hm_flow *flow, char out[AMOUNT])
{
    if (!is_known(reading, flow))
        snprintf(out, AMOUNT, "-");
    else if (is_energy(flow))
        snprintf(out, AMOUNT, "%.1f W", flow->total.amount / reading->seconds);
    else
        snprintf(out, AMOUNT, "%.1f MB/s", flow->total.amount / 1e6 / reading->seconds);
    return out;
}

void hm_meterprint_legend(FILE *out, const struct hm_meter_reading *reading)
{
    for (int i = 0; i < reading->n; i++) {
        const struct hm_flow *flow = &reading->flow[i];
        fprintf(out, "# %-*s %s%s\n", NAME_WIDTH, flow->name, flow->source ? flow->source : "- ",
                flow->source ? "" : flow->reason.text);
    }
}

void hm_meterprint_line(FILE *out, const struct hm_meter_reading *reading)
{
    char moment[HM_MOMENT], rate[AMOUNT];
    fputs(hm_moment_format(reading->time_s, moment), out);
    for (int i = 0; i < reading->n; i++)
        fprintf(out, "  %s %s", reading->flow[i].name, format_rate(reading, &reading->flow[i], rate));
    for (int i = 0; i < reading->n; i++)
        if (reading->flow[i].source && !is_known(reading, &reading->flow[i]))
            fprintf(out, "  (%s: %s)", reading->flow[i].name, reading->flow[i].reason.text);
    fputc('\n', out);
}

void hm_meterprint_screen(FILE *out, const struct hm_meter_reading *reading, const struct hm_screen *screen)
{
    char line[HM_ERROR_TEXT + 128], moment[HM_MOMENT], rate[AMOUNT];
    snprintf(line, sizeof(line), "hybridmem meter: %s, %s, over %.1f s", reading->host,
             hm_moment_format(reading->time_s, moment), reading->seconds);
    hm_screen_put_line(out, screen, line);
    hm_screen_put_line(out, screen, "");
    for (int i = 0; i < reading->n && i + 3 < (int)screen->lines; i++) {
        const struct hm_flow *flow = &reading->flow[i];
        bool known = is_known(reading, flow);
        snprintf(line, sizeof(line), "%-*s %14s  %s%s%s", NAME_WIDTH, flow->name, format_rate(reading, flow, rate),
                 flow->source ? flow->source : "", flow->source && !known ? ", " : "", known ? "" : flow->reason.text);
        hm_screen_put_line(out, screen, line);
    }
}

void hm_meterprint_list(FILE *out, const struct hm_meter_sources *sources)
{
    for (int i = 0; i < sources->n; i++) {
        const struct hm_counters_tried *tried = &sources->tried[i];
        const struct hm_counter_source *source = tried->source;
        fprintf(out, "%-12s %s\n", source->name, tried->n > 0 ? "works here" : "does not work here");
        if (tried->n == 0)
            fprintf(out, "  because   %s\n", tried->reason);
        for (size_t g = tried->first; g < tried->first + tried->n; g++)
            fprintf(out, "  %s %s\n", g == tried->first ? "reads    " : "         ", sources->gauges->gauge[g].name);
        fprintf(out, "  measures  %s\n  covers    %s\n  unit      %s\n  wraps     %s\n  needs     %s\n",
                source->measures, source->covers, source->unit, source->wraps, source->needs);
    }
}
