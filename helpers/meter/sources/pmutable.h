/* SPDX-License-Identifier: Apache-2.0 */
/* The table of PMU events that count energy and traffic: how much a count stands for, and on which processors. Pure. */
#ifndef HM_METER_SOURCES_PMUTABLE_H
#define HM_METER_SOURCES_PMUTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "meter/count/gauge.h"

/*
 * A row of the table: one event. The rows of a source are tried in order. Once a row has given counters of a quantity
 * and kind, later rows of the same quantity and kind are skipped, as they count the same traffic again. The exception
 * is a row right after it with another code for the same processor: it counts the other half of the traffic. The
 * kernel gives a scale for bytes, too, but in some kernels it is wrong (free-running counters before 6.4), so the row's
 * own factor is used.
 */
struct hm_pmu_row {
    const char *pmu;       /* pattern of the PMU's name */
    const char *event;     /* name in the PMU's folder events; with `terms`, a name for texts only */
    const char *terms;     /* the vendor's code, where the kernel does not describe the event; for processors that match
                              `processor` */
    const char *processor; /* pattern (fnmatch(3), with @(A|B)) of devices/system/cpu/modalias */
    double factor;         /* joules or bytes per count; 0: by the event's scale and unit */
    enum hm_quantity quantity;
    enum hm_kind kind;
};

enum hm_pmu_table { HM_PMU_ENERGY, HM_PMU_IMC, HM_PMU_AMD, HM_PMU_GRACE, HM_PMU_CXL, HM_PMU_N_TABLES };

struct hm_pmu_rows {
    const struct hm_pmu_row *row;
    size_t n;
    const char *pmus; /* pattern of the PMUs that a machine with this source has */
    const char *what; /* the name of these PMUs in texts */
};

/* The rows of a source. */
const struct hm_pmu_rows *hm_pmu_rows(enum hm_pmu_table table);

/* Does row `r` count the other half of what the row before it counts? */
bool hm_pmu_rows_adds(const struct hm_pmu_rows *rows, size_t r);

#endif
