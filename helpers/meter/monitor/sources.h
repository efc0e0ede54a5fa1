/* SPDX-License-Identifier: Apache-2.0 */
/* The texts beside a job's figures: who counted them, and why others are not known. */
#ifndef HM_METER_MONITOR_SOURCES_H
#define HM_METER_MONITOR_SOURCES_H

#include "meter.h"

/* Set the sources of energy, traffic and the group, of the first `n` of the meter's flows. */
void hm_monitor_sources(const struct hm_monitor_meter *meter, int n, struct hm_metered *metered);

#endif
