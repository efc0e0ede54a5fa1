/* SPDX-License-Identifier: Apache-2.0 */
#include "pmem.h"

#include <errno.h>
#include <linux/ndctl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "blockdevice.h"
#include "driver.h"
#include "parts.h"
#include "wipe.h"
#include "wiped.h"

int hm_pmem_regions(struct hm_pmem *pmem, const struct hm_topology *topology, struct hm_region region[HM_PMEM_REGIONS])
{
    for (int i = 0; i < pmem->n_regions; i++) {
        struct ndctl_region *from = pmem->region[i];
        region[i] = (struct hm_region){
            .socket = hm_topology_socket_of(topology, ndctl_region_get_numa_node(from)),
            .start = ndctl_region_get_resource(from),
            .size = ndctl_region_get_size(from),
            .free = ndctl_region_get_available_size(from),
            .extent = ndctl_region_get_max_available_extent(from),
            .align = ndctl_region_get_align(from),
            .has_labels = ndctl_region_get_nstype(from) == ND_DEVICE_NAMESPACE_PMEM,
            .is_enabled = ndctl_region_is_enabled(from),
            .is_read_only = ndctl_region_get_ro(from) > 0,
        };
        hm_text_copy(region[i].name, ndctl_region_get_devname(from), sizeof(region[i].name));
        /* Kernels before 4.19 do not tell the largest gap. Use the free space as a guess; if it is wrong, the kernel
         * refuses later. */
        if (region[i].extent > region[i].size)
            region[i].extent = region[i].free;
    }
    return pmem->n_regions;
}

static const char *block_device(struct ndctl_namespace *namespace)
{
    struct ndctl_pfn *pfn = ndctl_namespace_get_pfn(namespace);
    return pfn ? ndctl_pfn_get_block_device(pfn) : ndctl_namespace_get_block_device(namespace);
}

/* Write the path of a device. Returns false, and "", where there is no device. */
static bool device_path(const char *name, char *out, size_t size)
{
    out[0] = '\0';
    if (name && name[0])
        snprintf(out, size, "/dev/%.24s", name);
    return out[0] != '\0';
}

static void describe(struct ndctl_namespace *namespace, const struct hm_owner *owner, struct hm_namespace *out)
{
    uuid_t uuid;
    *out = (struct hm_namespace){.owner = *owner, .bytes = ndctl_namespace_get_size(namespace)};
    hm_owner_write(owner, out->name, uuid);
    uuid_unparse_lower(uuid, out->uuid);
    hm_text_copy(out->region, ndctl_region_get_devname(ndctl_namespace_get_region(namespace)), sizeof(out->region));
    (void)device_path(block_device(namespace), out->device, sizeof(out->device));
}

int hm_pmem_owned(struct hm_pmem *pmem, struct hm_namespace **owned, struct hm_error *error)
{
    struct ndctl_namespace *namespace;
    struct hm_owner owner;
    int n = 0;
    *owned = NULL;
    for (int i = 0; i < pmem->n_regions; i++) {
        ndctl_namespace_foreach (pmem->region[i], namespace) {
            if (!hm_pmem_is_ours(namespace, &owner))
                continue;
            struct hm_namespace *more = realloc(*owned, (size_t)(n + 1) * sizeof(**owned));
            if (!more) {
                free(*owned);
                *owned = NULL;
                return hm_fail(error, ENOMEM, "no memory for %d namespaces", n + 1);
            }
            *owned = more;
            describe(namespace, &owner, &more[n++]);
        }
    }
    return n;
}

/* Read the label back: programs of administrators do not take our lock, and may set up the same namespace at the same
 * time. */
static int check_label(const struct hm_share *share, const struct hm_owner *owner, struct hm_error *error)
{
    struct hm_pmem *pmem;
    struct hm_namespace *owned = NULL;
    bool is_there = false;
    int n = hm_pmem_open(&pmem, error) == 0 ? hm_pmem_owned(pmem, &owned, error) : -1;
    for (int i = 0; i < n; i++)
        is_there = is_there || (owned[i].bytes == share->bytes && strcmp(owned[i].region, share->region->name) == 0 &&
                                hm_owner_is_equal(&owned[i].owner, owner));
    free(owned);
    hm_pmem_close(pmem);
    if (n >= 0 && !is_there)
        return hm_fail(error, EAGAIN, "another program has set up the same namespace of %s meanwhile: try again",
                       share->region->name);
    return n < 0 ? -1 : 0;
}

/*
 * Write the label, its size last: a namespace without size does not exist, so one with a size always has its owner. The
 * name is written before the uuid: once a uuid is set, the kernel allows no other until the namespace is deleted, and
 * clean_seed deletes only what it recognizes by name and uuid.
 */
static int allocate(struct ndctl_namespace *seed, const struct hm_share *share, const struct hm_owner *owner,
                    struct hm_error *error)
{
    const char *of = ndctl_namespace_get_devname(seed);
    char name[HM_OWNER_NAME];
    uuid_t uuid;
    hm_owner_write(owner, name, uuid);
    if (hm_pmem_step(ndctl_namespace_set_alt_name(seed, name), "set the name of", of, error) != 0 ||
        hm_pmem_step(ndctl_namespace_set_uuid(seed, uuid), "set the uuid of", of, error) != 0 ||
        hm_pmem_step(ndctl_namespace_set_size(seed, share->bytes), "take the space for", of, error) != 0 ||
        check_label(share, owner, error) != 0)
        return -1;
    /* This is a hint for other tools and kernels; kernels before 4.13 do not know it. */
    (void)ndctl_namespace_set_enforce_mode(seed, NDCTL_NS_MODE_FSDAX);
    return 0;
}

/* Forget how far the wipe of an earlier namespace with this name has come. Such progress is left where somebody has
 * removed that namespace with ndctl. The wipe of the new namespace must not begin there, but at its first byte. */
static int forget_wipe(const struct hm_owner *owner, struct hm_error *error)
{
    char name[HM_OWNER_NAME];
    uuid_t uuid;
    hm_owner_write(owner, name, uuid);
    return hm_wiped_drop(name, error);
}

/* Give the namespace the mode fsdax. */
static int attach(struct ndctl_region *region, struct ndctl_namespace *namespace, bool map_in_pmem,
                  struct hm_error *error)
{
    uuid_t uuid;
    struct ndctl_pfn *pfn = ndctl_region_get_pfn_seed(region);
    if (!pfn)
        return hm_fail(error, ENXIO, "%s offers no fsdax: is it in the kernel (CONFIG_NVDIMM_PFN)?",
                       ndctl_region_get_devname(region));
    const char *of = ndctl_pfn_get_devname(pfn);
    uuid_generate(uuid);
    if (hm_pmem_step(ndctl_pfn_set_uuid(pfn, uuid), "set the uuid of", of, error) != 0 ||
        hm_pmem_step(ndctl_pfn_set_location(pfn, map_in_pmem ? NDCTL_PFN_LOC_PMEM : NDCTL_PFN_LOC_RAM),
                     "place the map of", of, error) != 0 ||
        (ndctl_pfn_has_align(pfn) &&
         hm_pmem_step(ndctl_pfn_set_align(pfn, HM_DAX_ALIGN), "set the alignment of", of, error) != 0) ||
        hm_pmem_step(ndctl_pfn_set_namespace(pfn, namespace), "choose the namespace of", of, error) != 0)
        return -1;
    return hm_pmem_step(ndctl_pfn_enable(pfn), "enable", of, error);
}

/*
 * Get the region's empty namespace, the one to set up next, or NULL. What a killed process has left in it is removed.
 */
static struct ndctl_namespace *clean_seed(struct ndctl_region *region)
{
    struct hm_owner owner;
    struct ndctl_namespace *seed = ndctl_region_get_namespace_seed(region);
    if (seed && ndctl_namespace_get_size(seed) == 0 && hm_pmem_is_ours(seed, &owner) &&
        ndctl_namespace_delete(seed) == 0)
        seed = ndctl_region_get_namespace_seed(region);
    return seed && ndctl_namespace_is_configuration_idle(seed) ? seed : NULL;
}

int hm_pmem_create(struct hm_pmem *pmem, const struct hm_share *share, const struct hm_owner *owner, bool map_in_pmem,
                   struct hm_namespace *made, struct hm_error *error)
{
    struct ndctl_region *region = hm_pmem_region(pmem, share->region->name);
    /* Load the driver before anything is made: without it nothing could be wiped either. */
    if (hm_driver_load(&hm_driver_pmem, error) != 0)
        return -1;
    struct ndctl_namespace *seed = region ? clean_seed(region) : NULL;
    if (!seed)
        return hm_fail(error, EAGAIN, "%s has no namespace to set up: another one there is half made",
                       share->region->name);
    if (forget_wipe(owner, error) != 0 || allocate(seed, share, owner, error) != 0 ||
        attach(region, seed, map_in_pmem, error) != 0)
        return -1;
    describe(seed, owner, made);
    if (!made->device[0])
        return hm_fail(error, ENODEV, "%s has no block device", made->name);
    return 0;
}

/*
 * Zero the user's data while the namespace is still fsdax. As a raw device it would look like a new disk, and other
 * programs of the node would at once take over anything that looks like an array or a volume. `bytes` gets the size of
 * that data.
 */
static int wipe_content(struct ndctl_namespace *namespace, const char *name, uint64_t *bytes, struct hm_error *error)
{
    char device[32];
    *bytes = 0;
    if (!device_path(block_device(namespace), device, sizeof(device)))
        return 0;
    if (hm_device_size(device, bytes, error) != 0)
        return -1;
    return hm_wiped_wipe(name, device, *bytes, error);
}

/*
 * Zero what surrounds the user's data: the map of its pages and the info block. They take `edge` bytes in all, so this
 * number of bytes is zeroed at the beginning, and again at the end. Where no data could be wiped as fsdax, zero
 * everything.
 */
static int wipe_around(struct ndctl_namespace *namespace, const char *name, uint64_t edge, struct hm_error *error)
{
    char device[32];
    uint64_t bytes = ndctl_namespace_get_size(namespace);
    const char *of = ndctl_namespace_get_devname(namespace);
    if (hm_pmem_step(ndctl_namespace_set_raw_mode(namespace, 1), "set raw mode of", of, error) != 0)
        return -1;
    int result = ndctl_namespace_enable(namespace);
    if (result < 0)
        return hm_pmem_step(result, "enable for its wipe", of, error);
    if (result > 0 || !device_path(ndctl_namespace_get_block_device(namespace), device, sizeof(device)))
        result = hm_fail(error, EBUSY, "%s has no device of its own for its wipe: another layer has taken it", of);
    else
        result = edge < bytes ? hm_wipe(device, bytes, edge, error) : hm_wiped_wipe(name, device, bytes, error);
    int number = errno;
    (void)ndctl_namespace_disable_invalidate(namespace);
    (void)ndctl_namespace_set_raw_mode(namespace, 0);
    errno = number;
    return result;
}

static int remove_one(struct ndctl_namespace *namespace, const char *name, struct hm_error *error)
{
    const char *of = ndctl_namespace_get_devname(namespace);
    uint64_t size = ndctl_namespace_get_size(namespace), content;
    if (wipe_content(namespace, name, &content, error) != 0)
        return -1;
    int result = ndctl_namespace_disable_safe(namespace);
    if (result < 0)
        return hm_pmem_step(result, "disable", of, error);
    (void)ndctl_namespace_set_enforce_mode(namespace, NDCTL_NS_MODE_RAW);
    if (size > 0 && wipe_around(namespace, name, size - content, error) != 0)
        return -1;
    if (hm_pmem_step(ndctl_namespace_delete(namespace), "delete", of, error) != 0)
        return -1;
    (void)hm_wiped_drop(name, NULL); /* a namespace without size was not wiped above: progress may be left */
    return 0;
}

static struct ndctl_namespace *find(struct hm_pmem *pmem, const struct hm_owner *owner)
{
    struct ndctl_namespace *namespace;
    struct hm_owner found;
    for (int i = 0; i < pmem->n_regions; i++)
        ndctl_namespace_foreach (pmem->region[i], namespace)
            if (hm_pmem_is_ours(namespace, &found) && hm_owner_is_equal(&found, owner))
                return namespace;
    return NULL;
}

int hm_pmem_remove(struct hm_pmem *pmem, const struct hm_owner *owner, struct hm_error *error)
{
    char name[HM_OWNER_NAME];
    uuid_t uuid;
    struct ndctl_namespace *namespace = find(pmem, owner);
    hm_owner_write(owner, name, uuid);
    return namespace ? remove_one(namespace, name, error) : 0;
}

void hm_pmem_revive(struct hm_pmem *pmem, const struct hm_owner *owner)
{
    struct ndctl_namespace *namespace = find(pmem, owner);
    if (!namespace || hm_driver_load(&hm_driver_pmem, NULL) != 0)
        return;
    /* Also disable fsdax that never started, or a raw device made for a wipe; then the kernel looks at the namespace
     * anew. */
    if (ndctl_namespace_disable_safe(namespace) < 0)
        return;
    (void)ndctl_namespace_set_raw_mode(namespace, 0);
    (void)ndctl_namespace_enable(namespace);
}
