/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The note of the mode that this node's memory was asked to take at its next boot: <state_dir>/memmode, root's alone.
 * hybridmem-memmode writes it, under the lock of namespaces (lock.h), before it changes what is pending. The note stays
 * while anything is pending, and after the boot until the check has answered it. Until the boot no namespace is made,
 * as the boot would end it: to ask the firmware before each one would take seconds of each prolog.
 */
#ifndef HM_NAMESPACE_PMEM_ASKED_H
#define HM_NAMESPACE_PMEM_ASKED_H

#include <stdbool.h>

#include "core/config/config.h"

struct hm_asked {
    char mode[16];    /* "flat", "cache" or "mixed" */
    bool is_unsure;   /* it is not known whether this mode is pending as a whole: the check does not count on it */
    char boot_id[40]; /* of the boot in which it was asked for (base/bootid.h) */
};

/* Write the note, and have it on the disk before this returns, as a boot may follow. Returns 0, or -1: then an earlier
 * note may be there still. */
int hm_asked_write(const struct hm_config *config, const char *mode, bool is_unsure, struct hm_error *error);

/* Read the note. Returns 1, 0 where there is none, or -1 with a text: EBADMSG where it is not of its form, EPERM where
 * others could have written it. */
int hm_asked_read(const struct hm_config *config, struct hm_asked *asked, struct hm_error *error);

/* Remove the note, for good. Returns 0, also where there is none, or -1. */
int hm_asked_remove(const struct hm_config *config, struct hm_error *error);

/* May namespaces be made? Returns 0, or -1 with a text: EBUSY where a note of this boot is there, or as hm_asked_read
 * fails. */
int hm_asked_allows(const struct hm_config *config, struct hm_error *error);

#endif
