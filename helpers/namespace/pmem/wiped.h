/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the progress of a wipe that its time limit has stopped, in the file <run_dir>/root/node/wiped/<name of the
 * label>. So a memory whose wipe takes longer than the limit is wiped by several prologs and epilogs. The progress is
 * used once: it is read and removed before the wipe goes on. It is also removed with the namespace, so that it cannot
 * be applied to a later namespace with the same name, whose data would then stay. The caller holds the lock.
 *
 * Where the limit stops the wipe after the user's data (in wipe_around of pmem.c), no progress is kept: the data has no
 * device of its own any more, and how much of the raw device is zero is not a single number. The next try wipes the
 * whole raw device, and keeps its progress as described here, so tries do come to an end.
 */
#ifndef HM_NAMESPACE_PMEM_WIPED_H
#define HM_NAMESPACE_PMEM_WIPED_H

#include <stdint.h>

#include "core/config/config.h"
#include "pmem.h"

/* Keep progress in the run_dir of this configuration. Before this call none is kept. */
void hm_wiped_begin(const struct hm_config *config);

/* Zero and verify the device of the namespace `name` (`bytes` bytes), without zeroing again what the last try has
 * zeroed. Returns 0 or -1, as hm_wipe_on; after ETIME the next try goes on where this one was stopped, or, if that
 * could not be kept, begins anew, which the text then says. */
int hm_wiped_wipe(const char *name, const char *device, uint64_t bytes, struct hm_error *error);

/* Remove the progress under the name of a namespace that is made or removed. Returns 0 (also where there is none), or
 * -1. */
int hm_wiped_drop(const char *name, struct hm_error *error);

/* Remove all progress except that of the `n` namespaces that exist. */
void hm_wiped_tidy(const struct hm_namespace *there, int n);

#endif
