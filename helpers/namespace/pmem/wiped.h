/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the wipe of a namespace had come when its limit cut it, kept in <run_dir>/wiped/<name of the label>, so that
 * a memory whose wipe takes longer than the limit is wiped by several prologs and epilogs. What is kept is worth one
 * try: it is read and removed before the wipe goes on, and removed with the namespace. It never outlives what it is
 * true of, for bytes that a next namespace of that name has written would be left there. The caller holds the lock.
 *
 * A limit that falls behind the content (pmem.c's wipe_around: the map of its pages and the info block) keeps nothing:
 * the content as a device of its own is gone by then, and how much of the raw device is zero is not one number. The
 * next try wipes all of the raw device, with its progress kept as here, so that tries come to an end.
 */
#ifndef HM_NAMESPACE_PMEM_WIPED_H
#define HM_NAMESPACE_PMEM_WIPED_H

#include <stdint.h>

#include "core/config/config.h"
#include "pmem.h"

/* The folder is in this one's run_dir. Without it, as before this, nothing is kept. */
void hm_wiped_begin(const struct hm_config *config);

/*
 * Zero all of the device of the namespace `name`, which has so many bytes, as hm_wipe does, but for what the last try
 * has zeroed; all of it is looked at in the end. Returns 0 or -1, as hm_wipe; ETIME: the next try goes on where this
 * one was cut.
 */
int hm_wiped_wipe(const char *name, const char *device, uint64_t bytes, struct hm_error *error);

/* Forget it: its namespace goes, or comes. Returns 0 (also where nothing is kept), or -1. */
int hm_wiped_drop(const char *name, struct hm_error *error);

/* Forget all but those of the `n` that are there. */
void hm_wiped_tidy(const struct hm_namespace *there, int n);

#endif
