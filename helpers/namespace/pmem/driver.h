/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's drivers for persistent memory. They are modules, which libkmod loads (libndctl uses it, too). */
#ifndef HM_NAMESPACE_PMEM_DRIVER_H
#define HM_NAMESPACE_PMEM_DRIVER_H

#include <stdbool.h>

#include "base/error.h"

struct hm_driver {
    const char *name;   /* name of the module */
    const char *folder; /* exists while the driver is loaded or built in */
};

extern const struct hm_driver hm_driver_pmem; /* nd_pmem: block devices */
extern const struct hm_driver hm_driver_kmem; /* kmem: DAX devices as system memory */

bool hm_driver_is_loaded(const struct hm_driver *driver);

/* Does the running kernel have this module, in its index and as a file? */
bool hm_driver_is_there(const struct hm_driver *driver);

/* Load the driver where it is not loaded. Returns 0, or -1 (ENODEV) where that fails, or it is blacklisted. */
int hm_driver_load(const struct hm_driver *driver, struct hm_error *error);

#endif
