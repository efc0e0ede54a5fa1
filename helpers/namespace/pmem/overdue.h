/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes which kept namespaces reaps have found past their age, so that a clock that is ahead for a moment, or a
 * hybridmem.conf that is half written, wipes nothing. Only what is still past its age HM_OVERDUE_S after the first look
 * is overdue. The notes are in the file <run_dir>/root/node/overdue, a line "SECONDS NAME" for each namespace: from
 * when it may be wiped by CLOCK_BOOTTIME, which nobody sets, and the name of its label. They end with the boot, as
 * run_dir does. The caller holds the lock.
 */
#ifndef HM_NAMESPACE_PMEM_OVERDUE_H
#define HM_NAMESPACE_PMEM_OVERDUE_H

#include "core/config/config.h"
#include "pmem.h"

#define HM_OVERDUE_S 600

/* Read the notes. Returns a text to free, or NULL where there are none, or none that can be read. */
char *hm_overdue_read(const struct hm_config *config);

/* Is the namespace past its age at `now_s`, and was it so HM_OVERDUE_S ago by these notes? */
bool hm_overdue_is_due(const struct hm_config *config, const char *notes, const struct hm_namespace *one,
                       int64_t now_s);

/* Note which of the `n` namespaces are past their age now. `notes` are those of before; only namespaces that are still
 * past their age stay in them. Returns 0, or -1 where the notes could not be written. */
int hm_overdue_note(const struct hm_config *config, const char *notes, const struct hm_namespace *owned, int n,
                    int64_t now_s, struct hm_error *error);

#endif
