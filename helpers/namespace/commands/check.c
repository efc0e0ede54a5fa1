/* SPDX-License-Identifier: Apache-2.0 */
/* The command check: prints what this node can do, one line for each part. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/size.h"
#include "core/tiers/boot.h"
#include "namespace/pmem/daxkernel.h"
#include "namespace/pmem/driver.h"
#include "parts.h"

#define RULE "60-hybridmem.rules"

/* Print one line. Returns `is_right`. */
static bool tell(bool is_right, const char *part, const char *text)
{
    printf("%-5s %s: %s\n", is_right ? "ok" : "error", part, text);
    return is_right;
}

static bool check_region(const struct hm_region *region)
{
    struct hm_error error = {{0}};
    char text[HM_ERROR_TEXT], extent[24], free_bytes[24], align[24];
    if (hm_region_check(region, &error) != 0)
        return tell(false, "region", error.text);
    if (region->socket < 0) {
        snprintf(text, sizeof(text), "%.23s: its socket is unknown", region->name);
        return tell(false, "region", text);
    }
    snprintf(text, sizeof(text), "%.23s on socket %d: largest extent %s, %s free, aligned to %s", region->name,
             region->socket, hm_size_format(region->extent, extent, sizeof(extent)),
             hm_size_format(region->free, free_bytes, sizeof(free_bytes)),
             hm_size_format(region->align, align, sizeof(align)));
    return tell(true, "region", text);
}

static bool check_regions(const struct hm_config *config, struct hm_topology *topology)
{
    struct hm_region region[HM_PMEM_REGIONS];
    struct hm_error error = {{0}};
    struct hm_pmem *pmem = NULL;
    bool is_right = false;
    if (hm_topology_of_node(config, topology, &error) != 0 || hm_pmem_open(&pmem, &error) != 0)
        return tell(false, "region", error.text);
    int n = hm_pmem_regions(pmem, topology, region);
    if (n == 0)
        tell(false, "region", "none (is the kernel module nfit loaded?)");
    for (int i = 0; i < n; i++)
        is_right = check_region(&region[i]) && (is_right || i == 0);
    hm_pmem_close(pmem);
    return is_right;
}

static bool check_programs(void)
{
    bool is_right = true;
    for (int i = 0; hm_mkfs_at(i); i++) {
        struct hm_error error = {{0}};
        const char *path = hm_mkfs_program(hm_mkfs_at(i), &error);
        is_right = tell(path != NULL, hm_mkfs_name(hm_mkfs_at(i)), path ? path : error.text) && is_right;
    }
    return is_right;
}

static bool check_module(const struct hm_driver *driver)
{
    char text[96];
    bool is_loaded = hm_driver_is_loaded(driver), is_there = is_loaded || hm_driver_is_there(driver);
    snprintf(text, sizeof(text), "%s%s", driver->name,
             is_loaded  ? ""
             : is_there ? ", which is loaded when it is needed"
                        : " is not loaded, and this kernel has no such module");
    return tell(is_there, "module", text);
}

static bool check_kernel(const struct hm_config *config)
{
    struct hm_error error = {{0}};
    if (hm_dax_kernel_check(config, &error) != 0)
        return tell(false, "kernel", error.text);
    return tell(true, "kernel",
                config->fsdax_trust ? "fsdax_trust = yes: the users of fsdax trust each other"
                                    : "waits for pages that are in use when a file system ends");
}

/* Does udev read the rule that keeps it away from what users write? If hybridmem is installed under another prefix than
 * /usr or /usr/local, udev reads the rule only if somebody has copied it into one of these folders. */
static bool check_udev(void)
{
    static const char *const folders[] = {"/etc/udev/rules.d", "/run/udev/rules.d", "/usr/local/lib/udev/rules.d",
                                          "/usr/lib/udev/rules.d"};
    char path[64];
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/" RULE, folders[i]);
        if (access(path, F_OK) == 0)
            return tell(true, "udev", path);
    }
    return tell(false, "udev",
                RULE " is in no folder of udev's: copy it from the installation's lib/udev/rules.d to "
                     "/etc/udev/rules.d");
}

int hm_namespace_check(const struct hm_config *config, const struct hm_namespace_request *request,
                       struct hm_error *error)
{
    struct hm_topology *topology = malloc(sizeof(*topology));
    (void)request;
    if (!topology) {
        hm_fail(error, ENOMEM, "no memory for the topology");
        return HM_NAMESPACE_REFUSED;
    }
    bool is_right = check_module(&hm_driver_pmem);
    if (config->ram != HM_SLOW_RAM_NONE)
        is_right = check_module(&hm_driver_kmem) && is_right;
    is_right = check_kernel(config) && is_right;
    is_right = check_regions(config, topology) && is_right;
    is_right = check_programs() && is_right;
    is_right = check_udev() && is_right;
    free(topology);
    return is_right ? HM_NAMESPACE_DONE : HM_NAMESPACE_REFUSED;
}
