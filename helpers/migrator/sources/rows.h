/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table of sources, each in its own file. */
#ifndef HM_MIGRATOR_SOURCES_ROWS_H
#define HM_MIGRATOR_SOURCES_ROWS_H

#include "source.h"

extern const struct hm_source_row hm_source_perf, hm_source_damon, hm_source_faults;

#endif
