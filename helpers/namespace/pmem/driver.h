/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's drivers of persistent memory, which are modules, by libkmod (which libndctl has too). */
#ifndef HM_NAMESPACE_PMEM_DRIVER_H
#define HM_NAMESPACE_PMEM_DRIVER_H

#include <stdbool.h>

#include "base/error.h"

struct hm_driver {
    const char *name;   /* of the module */
    const char *folder; /* there while the driver is, also where it is no module */
};

extern const struct hm_driver hm_driver_pmem; /* nd_pmem: block devices */
extern const struct hm_driver hm_driver_kmem; /* kmem: DAX devices as system memory */

bool hm_driver_is_loaded(const struct hm_driver *driver);

/* Has the running kernel such a module, by its index and in its file? */
bool hm_driver_is_there(const struct hm_driver *driver);

/* Load it where it is not. Returns 0, or -1: ENODEV where it cannot be, or is blacklisted. */
int hm_driver_load(const struct hm_driver *driver, struct hm_error *error);

#endif
