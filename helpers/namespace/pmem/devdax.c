/* SPDX-License-Identifier: Apache-2.0 */
#include "devdax.h"

#include <errno.h>

#define NAME "hybridmem-ram" /* in the label, for people */

uint64_t hm_devdax_bytes(struct ndctl_region *region)
{
    struct ndctl_namespace *namespace;
    uint64_t bytes = 0;
    ndctl_namespace_foreach (region, namespace)
        if (ndctl_namespace_get_dax(namespace))
            bytes += ndctl_namespace_get_size(namespace);
    return bytes;
}

static int take_space(struct ndctl_namespace *seed, uint64_t bytes, struct hm_error *error)
{
    const char *of = ndctl_namespace_get_devname(seed);
    uuid_t uuid;
    uuid_generate(uuid);
    if (hm_pmem_step(ndctl_namespace_set_alt_name(seed, NAME), "set the name of", of, error) != 0 ||
        hm_pmem_step(ndctl_namespace_set_uuid(seed, uuid), "set the uuid of", of, error) != 0 ||
        hm_pmem_step(ndctl_namespace_set_size(seed, bytes), "take the space for", of, error) != 0)
        return -1;
    /* a hint for other tools and kernels; kernels before 4.13 do not know it */
    (void)ndctl_namespace_set_enforce_mode(seed, NDCTL_NS_MODE_DEVDAX);
    return 0;
}

static int attach(struct ndctl_region *region, struct ndctl_namespace *namespace, struct hm_error *error)
{
    uuid_t uuid;
    struct ndctl_dax *dax = ndctl_region_get_dax_seed(region);
    if (!dax)
        return hm_fail(error, ENXIO, "%s offers no devdax: is it in the kernel (CONFIG_NVDIMM_DAX)?",
                       ndctl_region_get_devname(region));
    const char *of = ndctl_dax_get_devname(dax);
    uuid_generate(uuid);
    /* The map of the pages is in the namespace itself, as ndctl has it: there would be no use in a slow tier that fills
     * the fast one. */
    if (hm_pmem_step(ndctl_dax_set_uuid(dax, uuid), "set the uuid of", of, error) != 0 ||
        hm_pmem_step(ndctl_dax_set_location(dax, NDCTL_PFN_LOC_PMEM), "place the map of", of, error) != 0 ||
        (ndctl_dax_has_align(dax) &&
         hm_pmem_step(ndctl_dax_set_align(dax, HM_DAX_ALIGN), "set the alignment of", of, error) != 0) ||
        hm_pmem_step(ndctl_dax_set_namespace(dax, namespace), "choose the namespace of", of, error) != 0)
        return -1;
    return hm_pmem_step(ndctl_dax_enable(dax), "enable", of, error);
}

int hm_devdax_create(struct ndctl_region *region, uint64_t bytes, struct hm_error *error)
{
    struct ndctl_namespace *seed = ndctl_region_get_namespace_seed(region);
    if (!seed || !ndctl_namespace_is_configuration_idle(seed))
        return hm_fail(error, EAGAIN, "%s has no namespace to set up: another one there is half made",
                       ndctl_region_get_devname(region));
    if (take_space(seed, bytes, error) == 0 && attach(region, seed, error) == 0)
        return 0;
    int number = errno;
    (void)ndctl_namespace_delete(seed);
    errno = number;
    return -1;
}
