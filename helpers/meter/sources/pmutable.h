/* SPDX-License-Identifier: Apache-2.0 */
/* Which events of the kernel's PMUs count energy and traffic, as how much, on which processors. Pure. */
#ifndef HM_METER_SOURCES_PMUTABLE_H
#define HM_METER_SOURCES_PMUTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "meter/count/gauge.h"

/*
 * An event that counts what we want. The rows of a source are tried in their order: where one has given counters of a
 * quantity and kind, later ones of the same are another view of the same traffic, but for one that follows at once with
 * another code of that processor: it counts the other half. Kernels give bytes a scale, too, but some a wrong one
 * (free-running counters before 6.4): the row's own figure holds.
 */
struct hm_pmu_row {
    const char *pmu;   /* its name, a pattern */
    const char *event; /* in events/ of the PMU */
    const char *terms; /* where the kernel describes none: the vendor's code, for processors that match `processor` */
    const char *processor; /* pattern for devices/system/cpu/modalias, also with @(A|B) */
    double factor;         /* joules or bytes; 0: by the event's scale and unit */
    enum hm_quantity quantity;
    enum hm_kind kind;
};

enum hm_pmu_table { HM_PMU_ENERGY, HM_PMU_IMC, HM_PMU_AMD, HM_PMU_GRACE, HM_PMU_CXL, HM_PMU_N_TABLES };

struct hm_pmu_rows {
    const struct hm_pmu_row *row;
    size_t n;
    const char *pmus; /* pattern of those that a machine with this source has */
    const char *what; /* names them to people */
};

const struct hm_pmu_rows *hm_pmu_rows(enum hm_pmu_table table);

/* Does row `r` count the other half of what the row before it counts? */
bool hm_pmu_rows_adds(const struct hm_pmu_rows *rows, size_t r);

#endif
