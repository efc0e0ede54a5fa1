/* SPDX-License-Identifier: Apache-2.0 */
#include "labels.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ndctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/spawn.h"

#define LONGEST_S 60

/* util-linux's wipefs knows the marks of all file systems, volumes and partition tables. */
static const char *const wipefs[] = {"/usr/sbin/wipefs", "/sbin/wipefs"};

/* Have wipefs write the kinds of the marks that it finds on the device into the open file `found`. Returns 0 or -1. */
static int list_marks(const char *device, int found, struct hm_error *error)
{
    char name[] = "wipefs", quiet[] = "--no-act", plain[] = "--noheadings", what[] = "--output=TYPE", path[40];
    char language[] = "LC_ALL=C", *environment[] = {language, NULL};
    char *arguments[] = {name, quiet, plain, what, path, NULL};
    snprintf(path, sizeof(path), "%s", device);
    struct hm_spawn spawn = {.path = wipefs[access(wipefs[0], X_OK) == 0 ? 0 : 1],
                             .arguments = arguments,
                             .environment = environment,
                             .extra = -1,
                             .output = found,
                             .errors = -1,
                             .dies_with_parent = true};
    pid_t pid = hm_spawn_start(&spawn, error);
    int status = pid < 0 ? -1 : hm_spawn_wait_for(pid, LONGEST_S * 1000);
    if (pid >= 0 && status != 0)
        return hm_fail(error, EIO, "%s cannot tell whether data is on %s", spawn.path, device);
    return pid < 0 ? -1 : 0;
}

static int check_empty(const char *name, const char *device, struct hm_error *error)
{
    char kinds[64] = "";
    int found = memfd_create("wipefs", MFD_CLOEXEC);
    if (found < 0)
        return hm_fail_errno(error, "cannot look for data on %s", device);
    int result = list_marks(device, found, error);
    if (result == 0 && hm_file_read_open(found, kinds, sizeof(kinds)) < 0)
        result = hm_fail_errno(error, "cannot look for data on %s", device);
    close(found);
    kinds[strcspn(kinds, "\n")] = '\0';
    if (result == 0 && kinds[0])
        return hm_fail(error, EEXIST,
                       "%s, which is the whole region, has data (%s): save it, and remove its marks with wipefs -a %s",
                       name, kinds, device);
    return result;
}

/* Take the namespace's device for this program alone, as mounting it does. `*device` gets a descriptor, or -1 where the
 * namespace has no device, so that nobody can use it. */
static int hold(struct ndctl_namespace *namespace, int *device, struct hm_error *error)
{
    char path[40];
    const char *of = ndctl_namespace_get_devname(namespace), *block = ndctl_namespace_get_block_device(namespace);
    *device = -1;
    if (ndctl_namespace_get_size(namespace) == 0)
        return 0;
    if (ndctl_namespace_get_mode(namespace) != NDCTL_NS_MODE_RAW)
        return hm_fail(error, EBUSY,
                       "%s, which is the whole region, is set up (fsdax, devdax or sector) and may hold data: save it, "
                       "and remove it with ndctl destroy-namespace",
                       of);
    if (!ndctl_namespace_is_enabled(namespace) || !block || !block[0])
        return hm_fail(error, EBUSY,
                       "%s, which is the whole region, is disabled, so its data cannot be seen: ndctl "
                       "enable-namespace %s",
                       of, of);
    snprintf(path, sizeof(path), "/dev/%.24s", block);
    *device = open(path, O_RDONLY | O_EXCL | O_CLOEXEC);
    if (*device < 0)
        return hm_fail_errno(error, "%s, which is the whole region, is in use: %s", of, path);
    if (check_empty(of, path, error) == 0)
        return 0;
    int number = errno;
    close(*device);
    *device = -1;
    errno = number;
    return -1;
}

/* The region's one namespace; NULL: there is none. */
static struct ndctl_namespace *whole(struct ndctl_region *region)
{
    struct ndctl_namespace *namespace;
    ndctl_namespace_foreach (region, namespace)
        if (ndctl_namespace_get_size(namespace) > 0)
            return namespace;
    return NULL;
}

int hm_labels_hinder(struct ndctl_region *region, struct hm_error *error)
{
    int device = -1;
    struct ndctl_namespace *namespace = whole(region);
    int result = namespace ? hold(namespace, &device, error) : 0;
    if (device >= 0)
        close(device);
    return result;
}

char *hm_labels_modules(struct ndctl_region *region, char *out, size_t size)
{
    struct ndctl_mapping *mapping;
    size_t used = 0;
    out[0] = '\0';
    ndctl_mapping_foreach(region, mapping)
    {
        int n = snprintf(out + used, size - used, "%s%.16s", used ? "," : "",
                         ndctl_dimm_get_devname(ndctl_mapping_get_dimm(mapping)));
        if (n < 0 || (size_t)n >= size - used)
            break;
        used += (size_t)n;
    }
    return out;
}

/* Initialise one module's label area, and have the kernel read it anew. A module that has labels keeps them. */
static int label(struct ndctl_dimm *dimm, struct hm_error *error)
{
    const char *of = ndctl_dimm_get_devname(dimm);
    struct ndctl_cmd *read = ndctl_dimm_read_label_index(dimm);
    if (!read)
        return hm_fail(error, EIO, "cannot read the label area of %s: does the module have one?", of);
    int labels = ndctl_dimm_validate_labels(dimm) >= 0 ? 0 : ndctl_dimm_init_labels(dimm, NDCTL_NS_VERSION_1_2);
    ndctl_cmd_unref(read);
    if (hm_pmem_step(labels, "initialise the label area of", of, error) != 0)
        return -1;
    return ndctl_dimm_disable(dimm) == 0 && ndctl_dimm_enable(dimm) == 0
               ? 0
               : hm_fail(error, EBUSY, "%s has labels now, but the kernel does not read them before it is enabled anew",
                         of);
}

int hm_labels_write(struct ndctl_region *region, struct hm_error *error)
{
    int device = -1, result = 0;
    const char *of = ndctl_region_get_devname(region);
    struct ndctl_mapping *mapping;
    struct ndctl_namespace *namespace = whole(region);
    if (namespace && hold(namespace, &device, error) != 0)
        return -1;
    /* Until the region is disabled, the open device keeps others from mounting it. */
    if (hm_pmem_step(ndctl_region_disable_invalidate(region), "disable", of, error) != 0)
        result = -1;
    if (device >= 0)
        close(device);
    if (result == 0)
        ndctl_mapping_foreach(region, mapping) if (result == 0) result = label(ndctl_mapping_get_dimm(mapping), error);
    int enabled = ndctl_region_enable(region), number = errno;
    if (result == 0)
        return hm_pmem_step(enabled, "enable", of, error);
    errno = number;
    return -1;
}
