/* SPDX-License-Identifier: Apache-2.0 */
#include "print.h"

#include <string.h>

#include "base/moment.h"
#include "base/words.h"

#define NAME_WIDTH 16
#define AMOUNT 32
#define LIST_COLUMN 12    /* column at which the text about a source begins */
#define LEGEND_REASON 100 /* columns for a reason in a line of the legend */
#define DOTS " ..."
#define MORE "hybridmem meter --list says more"

/* "85.3 W", "1204.5 MB/s", or "-". Returns `out`. */
static char *format_rate(const struct hm_meter_reading *reading, const struct hm_flow *flow, char out[AMOUNT])
{
    if (!hm_meter_is_known(reading, flow))
        snprintf(out, AMOUNT, "-");
    else if (hm_meter_is_energy(flow))
        snprintf(out, AMOUNT, "%.1f W", flow->total.amount / reading->seconds);
    else
        snprintf(out, AMOUNT, "%.1f MB/s", flow->total.amount / 1e6 / reading->seconds);
    return out;
}

/* Shortens a reason to the words that fit into `columns`, with dots for the rest. Returns true if it is complete. */
static bool shorten(const char *reason, size_t columns, char out[HM_ERROR_TEXT])
{
    size_t length = strlen(reason), most = columns > sizeof(DOTS) ? columns - strlen(DOTS) : 1, end = most;
    if (length <= columns) {
        snprintf(out, HM_ERROR_TEXT, "%s", reason);
        return true;
    }
    while (end > 0 && reason[end] != ' ')
        end--;
    while (end > 0 && strchr(" ;:,(", reason[end - 1]))
        end--;
    snprintf(out, HM_ERROR_TEXT, "%.*s" DOTS, (int)(end > 0 ? end : most), reason);
    return false;
}

/*
 * The first flow without a source whose shortened reason is the same as that of flow `i`; `i` itself if there is none
 * before it.
 */
static int first_alike(const struct hm_meter_reading *reading, int i, size_t columns)
{
    char text[HM_ERROR_TEXT], other[HM_ERROR_TEXT];
    shorten(reading->flow[i].reason.text, columns, text);
    for (int first = 0; first < i; first++) {
        if (reading->flow[first].source)
            continue;
        shorten(reading->flow[first].reason.text, columns, other);
        if (strcmp(other, text) == 0)
            return first;
    }
    return i;
}

/* Prints one line for all flows that have no source for the same reason. */
static void put_reason(FILE *out, const struct hm_meter_reading *reading, int first)
{
    char text[HM_ERROR_TEXT];
    int width = fprintf(out, "# %s", reading->flow[first].name);
    for (int i = first + 1; i < reading->n; i++)
        if (!reading->flow[i].source && first_alike(reading, i, LEGEND_REASON) == first)
            width += fprintf(out, ", %s", reading->flow[i].name);
    bool is_whole = shorten(reading->flow[first].reason.text, LEGEND_REASON, text);
    fprintf(out, "%*s - %s%s\n", width < NAME_WIDTH + 2 ? NAME_WIDTH + 2 - width : 0, "", text,
            is_whole ? "" : " (" MORE ")");
}

void hm_meterprint_legend(FILE *out, const struct hm_meter_reading *reading)
{
    for (int i = 0; i < reading->n; i++) {
        const struct hm_flow *flow = &reading->flow[i];
        if (flow->source)
            fprintf(out, "# %-*s %s\n", NAME_WIDTH, flow->name, flow->source);
        else if (first_alike(reading, i, LEGEND_REASON) == i)
            put_reason(out, reading, i);
    }
}

void hm_meterprint_line(FILE *out, const struct hm_meter_reading *reading)
{
    char moment[HM_MOMENT], rate[AMOUNT];
    fputs(hm_moment_format(reading->time_s, moment), out);
    for (int i = 0; i < reading->n; i++)
        fprintf(out, "  %s %s", reading->flow[i].name, format_rate(reading, &reading->flow[i], rate));
    for (int i = 0; i < reading->n; i++)
        if (reading->flow[i].source && !hm_meter_is_known(reading, &reading->flow[i]))
            fprintf(out, "  (%s: %s)", reading->flow[i].name, reading->flow[i].reason.text);
    fputc('\n', out);
}

/*
 * Writes why the flow is not known, within `columns`; "" if it is known. Returns false if the reason is cut and
 * `hybridmem meter --list` has the rest of it.
 */
static bool explain(const struct hm_meter_reading *reading, int i, size_t columns, char out[HM_ERROR_TEXT])
{
    const struct hm_flow *flow = &reading->flow[i];
    int first = flow->source ? i : first_alike(reading, i, columns);
    out[0] = '\0';
    if (hm_meter_is_known(reading, flow))
        return true;
    if (first == i)
        return shorten(flow->reason.text, columns, out) || flow->source;
    snprintf(out, HM_ERROR_TEXT, "as %s", reading->flow[first].name);
    return true;
}

void hm_meterprint_screen(FILE *out, const struct hm_meter_reading *reading, const struct hm_screen *screen)
{
    char line[2 * HM_ERROR_TEXT], why[HM_ERROR_TEXT], moment[HM_MOMENT], rate[AMOUNT];
    bool is_whole = true;
    snprintf(line, sizeof(line), "hybridmem meter: %s, %s, over %.1f s", reading->host,
             hm_moment_format(reading->time_s, moment), reading->seconds);
    hm_screen_put_line(out, screen, line);
    hm_screen_put_line(out, screen, "");
    for (int i = 0; i < reading->n && i + 4 < (int)screen->lines; i++) {
        const struct hm_flow *flow = &reading->flow[i];
        int used =
            snprintf(line, HM_ERROR_TEXT, "%-*s %14s  %s%s", NAME_WIDTH, flow->name, format_rate(reading, flow, rate),
                     flow->source ? flow->source : "", flow->source && !hm_meter_is_known(reading, flow) ? ", " : "");
        size_t columns = screen->columns > (unsigned)used ? screen->columns - (unsigned)used : 0;
        is_whole = explain(reading, i, columns, why) && is_whole;
        snprintf(line + used, sizeof(line) - (size_t)used, "%s", why);
        hm_screen_put_line(out, screen, line);
    }
    if (!is_whole)
        hm_screen_put_line(out, screen, "(" MORE ")");
}

void hm_meterprint_list(FILE *out, const struct hm_meter_sources *sources, size_t columns)
{
    for (int i = 0; i < sources->n; i++) {
        const struct hm_counters_tried *tried = &sources->tried[i];
        const struct hm_counter_source *source = tried->source;
        const struct {
            const char *label, *text;
        } facts[] = {{"measures", source->measures},
                     {"covers", source->covers},
                     {"unit", source->unit},
                     {"wraps", source->wraps},
                     {"needs", source->needs}};
        fprintf(out, "%-12s %s\n", source->name, tried->n > 0 ? "works here" : "does not work here");
        if (tried->n == 0)
            hm_words_put_row(out, columns, LIST_COLUMN, tried->reason, "  because");
        for (size_t g = tried->first; g < tried->first + tried->n; g++)
            hm_words_put_row(out, columns, LIST_COLUMN, sources->gauges->gauge[g].name, "%s",
                             g == tried->first ? "  reads" : "");
        for (size_t fact = 0; fact < sizeof(facts) / sizeof(facts[0]); fact++)
            hm_words_put_row(out, columns, LIST_COLUMN, facts[fact].text, "  %s", facts[fact].label);
    }
}
