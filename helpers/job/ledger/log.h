/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of hybridmem-job: lines "error: TEXT", "warning: TEXT", "info: TEXT" or "debug: TEXT" on standard error. The
 * plugin, which starts hybridmem-job, passes them to Slurm's log: errors and warnings as errors, the others as
 * information. At boot they go to systemd's journal.
 */
#ifndef HM_JOB_LEDGER_LOG_H
#define HM_JOB_LEDGER_LOG_H

#include "core/config/config.h"

/* Lines that are less urgent than this level are dropped. The level is HM_LOG_INFO until this is called. */
void hm_log_set_level(enum hm_log_level level);

/* Writes a line (printf style). */
void hm_log(enum hm_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Returns the level of a line that hm_log wrote; `text` is where its text starts. A line of another form has the level
 * HM_LOG_ERROR.
 */
enum hm_log_level hm_log_parse(const char *line, const char **text);

#endif
