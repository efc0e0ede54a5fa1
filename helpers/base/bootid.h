/* SPDX-License-Identifier: Apache-2.0 */
/* Which boot of this machine it is, so that what was noted in an earlier boot is not believed in a later one. */
#ifndef HM_BASE_BOOTID_H
#define HM_BASE_BOOTID_H

#include <stdbool.h>
#include <stddef.h>

#define HM_BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* The id of this boot, without a newline; "" where the kernel does not say. Returns `out` (at least 40 bytes). */
char *hm_boot_id(char *out, size_t size);

/* Was this noted in an earlier boot? Returns false where either id is not known ("", or the kernel does not say). */
bool hm_boot_is_past(const char *id);

#endif
