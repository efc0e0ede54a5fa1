/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of hybridmem-job: lines "error: TEXT", "warning: TEXT", "info: TEXT" on standard error. The plugin that
 * started it hands them to Slurm's log at that level; at boot systemd's journal takes them.
 */
#ifndef HM_JOB_LEDGER_LOG_H
#define HM_JOB_LEDGER_LOG_H

#include "core/config/config.h"

/* Lines above this level are dropped; HM_LOG_INFO until it is set. */
void hm_log_set_level(enum hm_log_level level);

void hm_log(enum hm_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The level of a line that hm_log wrote, and where its text starts. A line of another form is an error. */
enum hm_log_level hm_log_parse(const char *line, const char **text);

#endif
