/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a node may be booted with what is pending, and whether it came back from a boot as it was asked to.
 * Pure. */
#ifndef HM_MEMMODE_DECIDE_BOOT_H
#define HM_MEMMODE_DECIDE_BOOT_H

#include "state.h"

/*
 * Find the mode in the features with which Slurm has a node reboot: "memmode=cache,other". Words that are not of
 * hybridmem are passed over. `asked` becomes HM_MEMMODE_NONE where there is none. Returns 0, or -1 (EINVAL): two modes,
 * no mode that a node can be asked to take, or a word that has a mode inside of it.
 */
int hm_memmode_parse_list(const char *features, enum hm_memmode *asked, struct hm_error *error);

/*
 * May the node boot? `asked` is the mode that it is to come back in; HM_MEMMODE_NONE: none was named, as for a reboot
 * that is not about the memory. Returns 0, or -1 with a text: EIO where the goal for `asked` is not pending, or one is
 * that is incomplete; EBUSY where the goal that is pending would end somebody's data.
 */
int hm_memmode_may_boot(const struct hm_memmode_state *state, enum hm_memmode asked, struct hm_error *error);

/* Is the node, after its boot, in the mode that was asked for? Returns 0, or -1 (EIO) with a text that names this mode
 * and what is there. */
int hm_memmode_has_come(const struct hm_memmode_state *state, enum hm_memmode asked, struct hm_error *error);

#endif
