/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libndctl, finds the regions of persistent memory, and tells whether hybridmem has made a namespace. */
#include <errno.h>
#include <linux/ndctl.h>
#include <stdlib.h>
#include <string.h>

#include "parts.h"

/* Drop the library's own messages, as the caller says in one line what failed. */
__attribute__((format(printf, 6, 0))) static void drop_message(struct ndctl_ctx *context, int priority,
                                                               const char *file, int line, const char *function,
                                                               const char *format, va_list arguments)
{
    (void)context, (void)priority, (void)file, (void)line, (void)function, (void)format, (void)arguments;
}

int hm_pmem_open(struct hm_pmem **pmem, struct hm_error *error)
{
    struct ndctl_bus *bus;
    struct ndctl_region *region;
    struct hm_pmem *made = calloc(1, sizeof(*made));
    *pmem = NULL;
    if (!made)
        return hm_fail(error, ENOMEM, "no memory for libndctl");
    int result = ndctl_new(&made->context);
    if (result != 0) {
        free(made);
        return hm_fail(error, -result, "libndctl cannot be used: %s", strerror(-result));
    }
    ndctl_set_log_fn(made->context, drop_message);
    ndctl_bus_foreach (made->context, bus) {
        ndctl_region_foreach (bus, region) {
            if (ndctl_region_get_type(region) == ND_DEVICE_REGION_PMEM && made->n_regions < HM_PMEM_REGIONS)
                made->region[made->n_regions++] = region;
        }
    }
    *pmem = made;
    return 0;
}

void hm_pmem_close(struct hm_pmem *pmem)
{
    if (pmem)
        ndctl_unref(pmem->context);
    free(pmem);
}

struct ndctl_region *hm_pmem_region(struct hm_pmem *pmem, const char *name)
{
    for (int i = 0; i < pmem->n_regions; i++)
        if (strcmp(ndctl_region_get_devname(pmem->region[i]), name) == 0)
            return pmem->region[i];
    return NULL;
}

bool hm_pmem_is_ours(struct ndctl_namespace *namespace, struct hm_owner *owner)
{
    uuid_t uuid;
    const char *name = ndctl_namespace_get_alt_name(namespace);
    if (ndctl_namespace_get_type(namespace) != ND_DEVICE_NAMESPACE_PMEM || !name)
        return false;
    ndctl_namespace_get_uuid(namespace, uuid);
    return hm_owner_read(name, uuid, owner) == 0;
}

int hm_pmem_step(int result, const char *what, const char *of, struct hm_error *error)
{
    return result >= 0 ? 0 : hm_fail(error, -result, "cannot %s %s: %s", what, of, strerror(-result));
}
