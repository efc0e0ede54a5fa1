/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the texts beside a job's figures: which source counted them, or why a figure is unknown. */
#ifndef HM_METER_MONITOR_TEXTS_H
#define HM_METER_MONITOR_TEXTS_H

#include "meter.h"

/* Set `metered`'s texts on energy, on traffic and on the job's resctrl group (if it has one), from the first `n` of the
 * meter's flows. */
void hm_monitor_sources(const struct hm_monitor_meter *meter, int n, struct hm_metered *metered);

#endif
