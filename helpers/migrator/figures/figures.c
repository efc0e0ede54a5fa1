/* SPDX-License-Identifier: Apache-2.0 */
#include "figures.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

enum type { TEXT, WHOLE, SMALL, REAL, REAL_OR_NULL };

static const struct {
    const char *key;
    enum type type;
    size_t at;
} rows[] = {
    {"algorithm", TEXT, offsetof(struct hm_progress, algorithm)},
    {"hot_by", TEXT, offsetof(struct hm_progress, hot_by)},
    {"source", TEXT, offsetof(struct hm_progress, source)},
    {"source_why", TEXT, offsetof(struct hm_progress, source_why)},
    {"period", WHOLE, offsetof(struct hm_progress, period)},
    {"period_is_time", SMALL, offsetof(struct hm_progress, period_is_time)},
    {"knows_writes", SMALL, offsetof(struct hm_progress, knows_writes)},
    {"interval_ms", WHOLE, offsetof(struct hm_progress, interval_ms)},
    {"phases", WHOLE, offsetof(struct hm_progress, phases)},
    {"samples", WHOLE, offsetof(struct hm_progress, samples)},
    {"lost", WHOLE, offsetof(struct hm_progress, lost)},
    {"throttled", WHOLE, offsetof(struct hm_progress, throttled)},
    {"dropped", WHOLE, offsetof(struct hm_progress, dropped)},
    {"promoted_bytes", WHOLE, offsetof(struct hm_progress, promoted_bytes)},
    {"demoted_bytes", WHOLE, offsetof(struct hm_progress, demoted_bytes)},
    {"capacity_bytes", WHOLE, offsetof(struct hm_progress, capacity_bytes)},
    {"above_cap_bytes", WHOLE, offsetof(struct hm_progress, above_cap_bytes)},
    {"first_above_cap_bytes", WHOLE, offsetof(struct hm_progress, first_above_cap_bytes)},
    {"share_bytes", WHOLE, offsetof(struct hm_progress, share_bytes)},
    {"least_share_bytes", WHOLE, offsetof(struct hm_progress, least_share_bytes)},
    {"balance_phases", WHOLE, offsetof(struct hm_progress, balance_phases)},
    {"balance_share", REAL, offsetof(struct hm_progress, balance_share)},
    {"fast_traffic", REAL, offsetof(struct hm_progress, fast_traffic)},
    {"slow_traffic", REAL, offsetof(struct hm_progress, slow_traffic)},
    {"traffic_source", TEXT, offsetof(struct hm_progress, traffic_source)},
    {"balance_why", TEXT, offsetof(struct hm_progress, balance_why)},
    {"above_cap_s", REAL_OR_NULL, offsetof(struct hm_progress, above_cap_s)},
    {"allowed_s", REAL_OR_NULL, offsetof(struct hm_progress, allowed_s)},
    {"advance_s", REAL_OR_NULL, offsetof(struct hm_progress, advance_s)},
    {"gain_s", REAL_OR_NULL, offsetof(struct hm_progress, gain_s)},
    {"cpu_s", REAL, offsetof(struct hm_progress, cpu_s)},
    {"kernel_cpu_s", REAL_OR_NULL, offsetof(struct hm_progress, kernel_cpu_s)},
    {"fast_share", REAL_OR_NULL, offsetof(struct hm_progress, fast_share)},
    {"last_fast_share", REAL_OR_NULL, offsetof(struct hm_progress, last_fast_share)},
    {"best_share", REAL_OR_NULL, offsetof(struct hm_progress, best_share)},
    {"n_ranks", SMALL, offsetof(struct hm_progress, n_ranks)},
    {"most_ranks", SMALL, offsetof(struct hm_progress, most_ranks)},
};

/* The texts are printable ASCII (progress.h). */
static void print_text(const char *text, FILE *file)
{
    fputc('"', file);
    for (; *text; text++)
        fprintf(file, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', file);
}

static void print_value(const void *at, enum type type, FILE *file)
{
    uint64_t whole;
    uint32_t small;
    double real;
    switch (type) {
    case TEXT:
        print_text(at, file);
        break;
    case WHOLE:
        memcpy(&whole, at, sizeof(whole));
        fprintf(file, "%" PRIu64, whole);
        break;
    case SMALL:
        memcpy(&small, at, sizeof(small));
        fprintf(file, "%" PRIu32, small);
        break;
    case REAL:
    case REAL_OR_NULL: /* negative: not known, null */
        memcpy(&real, at, sizeof(real));
        if (type == REAL_OR_NULL && real < 0)
            fputs("null", file);
        else
            fprintf(file, "%.6f", real);
        break;
    }
}

void hm_figures_print(const struct hm_progress *progress, FILE *file)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fprintf(file, "%s\"%s\": ", i ? ", " : "{", rows[i].key);
        print_value((const char *)progress + rows[i].at, rows[i].type, file);
    }
    fputs(", \"unmoved_bytes\": {", file);
    for (int i = 0; i < HM_UNMOVED_REASONS; i++)
        fprintf(file, "%s\"%s\": %" PRIu64, i ? ", " : "", hm_unmoved_name((enum hm_unmoved)i),
                progress->unmoved_bytes[i]);
    fputs("}, \"heat\": ", file);
    for (int i = 0; progress->knows_heat && i < HM_MEMORY_KINDS; i++)
        fprintf(file, "%s\"%s\": {\"share\": %.6f, \"unmovable\": %.6f}", i ? ", " : "{",
                hm_memory_kind_name((enum hm_memory_kind)i), progress->heat[i], progress->stuck[i]);
    fputs(progress->knows_heat ? "}, \"warnings\": [" : "null, \"warnings\": [", file);
    for (uint32_t i = 0; i < progress->n_warnings; i++) {
        fputs(i ? ", " : "", file);
        print_text(progress->warning[i], file);
    }
    fputs("]}\n", file);
}
