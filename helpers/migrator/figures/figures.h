/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the figures as one line of JSON, for a migrator that was started by hand. */
#ifndef HM_MIGRATOR_FIGURES_FIGURES_H
#define HM_MIGRATOR_FIGURES_FIGURES_H

#include <stdio.h>

#include "progress.h"

void hm_figures_print(const struct hm_progress *progress, FILE *file);

#endif
