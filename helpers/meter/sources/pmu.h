/* SPDX-License-Identifier: Apache-2.0 */
/* The sources that are perf events of PMUs, as sysfs describes these: bus/event_source/devices. */
#ifndef HM_METER_SOURCES_PMU_H
#define HM_METER_SOURCES_PMU_H

#include "sources.h"

int hm_pmusource_find_energy(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                             struct hm_error *reason);
int hm_pmusource_find_imc(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                          struct hm_error *reason);
int hm_pmusource_find_amd(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                          struct hm_error *reason);
int hm_pmusource_find_cxl(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                          struct hm_error *reason);
int hm_pmusource_find_grace(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source,
                            struct hm_error *reason);

#endif
