/* SPDX-License-Identifier: Apache-2.0 */
#include "regions.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/size.h"

#define REGION "region"
#define NAMESPACE "namespace"
#define DAX "dax"
#define LINE 80
#define NAMESPACES_WITH_LABELS 5 /* nstype: ND_DEVICE_NAMESPACE_PMEM of <linux/ndctl.h> */

/* Read the first line of a file in a device's folder. Returns false where it cannot be read. */
static bool read_line(const char *folder, const char *device, const char *name, char line[LINE])
{
    char path[320];
    snprintf(path, sizeof(path), "%s/%.40s/%s", folder, device, name);
    return hm_file_read_line(path, line, LINE) == 0;
}

/* Read a number from 0 on. Returns false also where the file has another text (numa_node may be -1). */
static bool read_number(const char *folder, const char *device, const char *name, uint64_t *number)
{
    char line[LINE] = "";
    return read_line(folder, device, name, line) && hm_size_parse_number(line, 0, UINT64_MAX, number, NULL) == 0;
}

/* Only a region with a driver can have namespaces. */
static bool has_driver(const char *folder, const char *device)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/%.40s/driver", folder, device);
    return access(path, F_OK) == 0;
}

/* Is it a region, "region0"? `id` gets its number. */
static bool is_region(const char *name, uint64_t *id)
{
    return strncmp(name, REGION, strlen(REGION)) == 0 &&
           hm_size_parse_number(name + strlen(REGION), 0, INT32_MAX, id, NULL) == 0;
}

/* Is there a device for which `is_so` returns true? */
static bool have_any(const char *folder, bool (*is_so)(const char *folder, const char *device, const char *wanted),
                     const char *wanted)
{
    struct dirent *item;
    bool have = false;
    DIR *names = opendir(folder);
    while (names && !have && (item = readdir(names)))
        have = is_so(folder, item->d_name, wanted);
    if (names)
        closedir(names);
    return have;
}

static bool is_any_region(const char *folder, const char *device, const char *wanted)
{
    uint64_t id;
    (void)folder, (void)wanted;
    return is_region(device, &id);
}

bool hm_regions_are_there(const char *folder)
{
    return have_any(folder, is_any_region, NULL);
}

static bool read_label(const char *folder, const char *device, const char *prefix, char label[LINE])
{
    return strncmp(device, NAMESPACE, strlen(NAMESPACE)) == 0 && read_line(folder, device, "alt_name", label) &&
           strncmp(label, prefix, strlen(prefix)) == 0;
}

static bool has_label(const char *folder, const char *device, const char *prefix)
{
    char label[LINE];
    return read_label(folder, device, prefix, label);
}

bool hm_regions_have_label(const char *folder, const char *prefix)
{
    return have_any(folder, has_label, prefix);
}

int hm_regions_each_label(const char *folder, const char *prefix, void (*take)(void *data, const char *label),
                          void *data)
{
    struct dirent *item;
    char label[LINE];
    DIR *names = opendir(folder);
    if (!names)
        return errno == ENOENT ? 0 : -1;
    while ((errno = 0, item = readdir(names)))
        if (read_label(folder, item->d_name, prefix, label))
            take(data, label);
    int number = errno;
    closedir(names);
    errno = number;
    return number == 0 ? 0 : -1;
}

/* Does the device belong to a devdax namespace, as "dax0.0" does? Devices that are not set up yet belong to none. */
static bool has_namespace(const char *folder, const char *device, const char *wanted)
{
    char namespace[LINE];
    (void)wanted;
    return strncmp(device, DAX, strlen(DAX)) == 0 && read_line(folder, device, NAMESPACE, namespace) &&
           namespace[0] != '\0';
}

bool hm_regions_have_devdax(const char *folder)
{
    return have_any(folder, has_namespace, NULL);
}

void hm_regions_read(const char *folder, const struct hm_topology *topology, struct hm_dax_regions *regions)
{
    uint64_t id, node_id, type, read_only;
    struct dirent *item;
    memset(regions, 0, sizeof(*regions));
    regions->are_known = true;
    DIR *names = opendir(folder);
    while (names && regions->n < HM_MAX_REGIONS && (item = readdir(names))) {
        struct hm_dax_region *region = &regions->region[regions->n];
        if (!is_region(item->d_name, &id) || !read_number(folder, item->d_name, "size", &region->bytes))
            continue;
        region->id = (int)id;
        region->has_labels = read_number(folder, item->d_name, "nstype", &type) && type == NAMESPACES_WITH_LABELS;
        region->is_disabled = !has_driver(folder, item->d_name);
        region->is_read_only = read_number(folder, item->d_name, "read_only", &read_only) && read_only > 0;
        /* The number may be -1: unknown. */
        bool has_node = read_number(folder, item->d_name, "numa_node", &node_id) && node_id <= INT32_MAX;
        region->socket = hm_topology_socket_of(topology, has_node ? (int)node_id : -1);
        regions->n++;
    }
    if (names)
        closedir(names);
}
