/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the boots of this machine apart, so that what was noted in one boot is not believed in a later one. */
#ifndef HM_BASE_BOOTID_H
#define HM_BASE_BOOTID_H

#include <stdbool.h>
#include <stddef.h>

#define HM_BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

/* The id of this boot, without a newline; "" where the kernel does not say. Returns `out` (at least 40 bytes). */
char *hm_boot_id(char *out, size_t size);

/* Is `id` that of an earlier boot? Returns false where `id` is "", or the kernel does not say which boot this is. */
bool hm_boot_is_past(const char *id);

#endif
