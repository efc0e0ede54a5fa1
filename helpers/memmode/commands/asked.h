/* SPDX-License-Identifier: Apache-2.0 */
/* The note of the mode that this node was asked to take at its next boot: <state_dir>/memmode, root's alone. It is
 * there while the whole goal is pending, and after the boot until the check has answered it (check.c). */
#ifndef HM_MEMMODE_COMMANDS_ASKED_H
#define HM_MEMMODE_COMMANDS_ASKED_H

#include "core/config/config.h"
#include "memmode/decide/state.h"

struct hm_asked {
    enum hm_memmode mode; /* flat or cache */
    char boot_id[40];     /* of the boot in which it was asked for (base/bootid.h) */
};

/* Write the note, and have it on the disk before this returns, as a boot follows. Returns 0, or -1: then there is none.
 */
int hm_asked_write(const struct hm_config *config, enum hm_memmode mode, struct hm_error *error);

/* Read the note. Returns 1, 0 where there is none, or -1 with a text: EBADMSG where it is not of its form, EPERM where
 * others could have written it. */
int hm_asked_read(const struct hm_config *config, struct hm_asked *asked, struct hm_error *error);

/* Remove the note, for good. Returns 0, also where there is none, or -1. */
int hm_asked_remove(const struct hm_config *config, struct hm_error *error);

#endif
