/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's driver of persistent memory, the module nd_pmem, by libkmod (which libndctl has too). */
#ifndef HM_DRIVER_H
#define HM_DRIVER_H

#include <stdbool.h>

#include "../core/error.h"

bool hm_driver_is_loaded(void);

/* Has the running kernel such a module, by its index and in its file? */
bool hm_driver_is_there(void);

/* Load it where it is not. Returns 0, or -1: ENODEV where it cannot be, or is blacklisted. */
int hm_driver_load(struct hm_error *error);

#endif
