/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <errno.h>
#include <libkmod.h>
#include <unistd.h>

const struct hm_driver hm_driver_pmem = {"nd_pmem", "/sys/bus/nd/drivers/nd_pmem"};
const struct hm_driver hm_driver_kmem = {"kmem", "/sys/bus/dax/drivers/kmem"};

bool hm_driver_is_loaded(const struct hm_driver *driver)
{
    return access(driver->folder, F_OK) == 0;
}

/* Call `use` with the driver's module. Returns the result of `use`, or false where there is no such module or memory is
 * short. */
static bool with_module(const struct hm_driver *driver, bool (*use)(struct kmod_module *))
{
    struct kmod_module *module = NULL;
    struct kmod_ctx *context = kmod_new(NULL, NULL);
    bool result = context && kmod_module_new_from_name(context, driver->name, &module) == 0 && use(module);
    kmod_module_unref(module);
    kmod_unref(context);
    return result;
}

static bool has_file(struct kmod_module *module)
{
    const char *path = kmod_module_get_path(module);
    return path && access(path, F_OK) == 0;
}

static bool insert(struct kmod_module *module)
{
    return kmod_module_probe_insert_module(module, KMOD_PROBE_APPLY_BLACKLIST, NULL, NULL, NULL, NULL) == 0;
}

bool hm_driver_is_there(const struct hm_driver *driver)
{
    return with_module(driver, has_file);
}

int hm_driver_load(const struct hm_driver *driver, struct hm_error *error)
{
    if (hm_driver_is_loaded(driver) || (with_module(driver, insert) && hm_driver_is_loaded(driver)))
        return 0;
    return hm_fail(error, ENODEV, "the kernel module %s is not loaded, and cannot be", driver->name);
}
