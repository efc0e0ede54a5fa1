/* SPDX-License-Identifier: Apache-2.0 */
/* The commands ram online and ram offline: make devdax namespaces into memory of the kernel, and back. Each device is
 * changed as a whole, or put back as far as the kernel allows. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/size.h"
#include "core/tiers/boot.h"
#include "namespace/mount/holders.h"
#include "namespace/pmem/driver.h"
#include "namespace/ram/autoonline.h"
#include "namespace/ram/blocks.h"
#include "parts.h"

#define LOOK_S 30 /* longest time to look who has a device open */
#define TRIES 3   /* other programs, for example a udev rule, may bring blocks online in the wrong zone meanwhile */

/* A change of one device. */
typedef int (*change_device)(const struct hm_config *config, const struct hm_namespace_request *request,
                             struct hm_ram_device *device, struct hm_error *error);

static bool is_all_in(const struct hm_ram_device *device, enum hm_zone zone)
{
    return device->driver == HM_RAM_KMEM && device->blocks.n > 0 && device->blocks.online == device->blocks.n &&
           hm_blocks_zone(&device->blocks) == zone;
}

static void say_online(const struct hm_ram_device *device, const char *how, enum hm_zone before)
{
    char size[24];
    enum hm_zone zone = hm_blocks_zone(&device->blocks);
    printf("%s: %s in zone %s on node %d, %s", device->name, how, hm_zone_name(zone), device->node,
           hm_size_format(device->blocks.n * device->blocks.bytes, size, sizeof(size)));
    if (before != HM_ZONE_NONE && before != zone)
        printf(" (was in zone %s)", hm_zone_name(before));
    putchar('\n');
}

/* Bring all blocks online in the zone; if some are in another zone, all are taken offline first. Returns 0 or -1. */
static int settle(struct hm_ram_device *device, enum hm_zone zone, unsigned patience_s, struct hm_error *error)
{
    struct hm_set node;
    hm_set_clear(&node);
    hm_set_add(&node, (unsigned)device->node);
    for (int i = 0; i < TRIES; i++) {
        enum hm_zone now = hm_blocks_zone(&device->blocks);
        if (now != HM_ZONE_NONE && now != zone &&
            (hm_ram_refuse_living(&node, error) != 0 || hm_ram_empty(device, &node, patience_s, error) != 0))
            return -1;
        if (hm_ram_online(device, zone, error) != 0 || hm_ram_look(device, error) != 0)
            return -1;
        if (is_all_in(device, zone))
            return 0;
    }
    if (device->blocks.n == 0)
        return hm_fail(error, ENODEV, "the kernel has made no memory blocks of it");
    return hm_fail(error, EAGAIN, "another program brings its blocks online in another zone (a rule of udev's?)");
}

/* Turn a device that nobody uses into memory, whose blocks are all offline at first. Returns 0, or -1 with the device
 * in its former state, as far as the kernel allows. */
static int become_memory(const struct hm_config *config, struct hm_ram_device *device, struct hm_error *error)
{
    char path[32], holders[256], size[24], block_size[24];
    uint64_t block = hm_blocks_size(HM_BLOCKS_SYSTEM, error);
    if (block == 0)
        return -1;
    if (device->node < 0)
        return hm_fail(error, ENODEV, "the firmware names no NUMA node for it");
    if (hm_blocks_within(device->start, device->bytes, block) == 0)
        return hm_fail(error, EINVAL, "its %s have no whole memory block of %s",
                       hm_size_format(device->bytes, size, sizeof(size)),
                       hm_size_format(block, block_size, sizeof(block_size)));
    snprintf(path, sizeof(path), "/dev/%s", device->name);
    int found = hm_holders_find(path, hm_clock_s(CLOCK_MONOTONIC) + LOOK_S, holders, sizeof(holders));
    if (found > 0)
        return hm_fail(error, EBUSY, "it is open in %s", holders);
    if (found < 0)
        return hm_fail_errno(error, "cannot tell within %d s whether a process has it open", LOOK_S);
    if (hm_driver_load(&hm_driver_kmem, error) != 0 || hm_autoonline_hold(HM_BLOCKS_SYSTEM, config, error) != 0)
        return -1;
    int result = hm_ram_bind(device, HM_RAM_KMEM, error), number = errno;
    if (hm_autoonline_release(HM_BLOCKS_SYSTEM, config, result == 0 ? error : NULL) != 0 && result == 0) {
        result = -1;
        number = errno;
    }
    const enum hm_ram_driver before = device->driver;
    if (result == 0 && hm_ram_look(device, error) == 0)
        return 0;
    number = result == 0 ? errno : number;
    (void)hm_ram_bind(device, before, NULL);
    errno = number;
    return -1;
}

static int bring_online(const struct hm_config *config, const struct hm_namespace_request *request,
                        struct hm_ram_device *device, struct hm_error *error)
{
    const struct hm_ram_device before = *device;
    if (is_all_in(device, request->zone)) {
        say_online(device, "already online", HM_ZONE_NONE);
        return 0;
    }
    if (device->driver != HM_RAM_KMEM && become_memory(config, device, error) != 0)
        return -1;
    if (settle(device, request->zone, request->patience_s, error) != 0)
        return hm_ram_put_back(&before, request->patience_s, error);
    say_online(device, "online", hm_blocks_zone(&before.blocks));
    return 0;
}

static int take_offline(const struct hm_config *config, const struct hm_namespace_request *request,
                        struct hm_ram_device *device, struct hm_error *error)
{
    const struct hm_ram_device before = *device;
    struct hm_set node;
    (void)config;
    /* A device without a driver is not offline yet: a run that was killed may have left it so. */
    if (device->driver == HM_RAM_DEVDAX) {
        printf("%s: already offline\n", device->name);
        return 0;
    }
    /* Check again, as the devices before this one may have taken minutes. */
    hm_set_clear(&node);
    if (device->blocks.online > 0)
        hm_set_add(&node, (unsigned)device->node);
    if (!hm_set_is_empty(&node) && hm_ram_refuse_living(&node, error) != 0)
        return -1;
    if ((!hm_set_is_empty(&node) && hm_ram_empty(device, &node, request->patience_s, error) != 0) ||
        hm_ram_bind(device, HM_RAM_DEVDAX, error) != 0)
        return hm_ram_put_back(&before, request->patience_s, error);
    printf("%s: offline, a device again\n", device->name);
    return 0;
}

/* Has memory of the device come or gone, or changed its zone? */
static bool is_changed(const struct hm_ram_device *before)
{
    struct hm_ram_device now = *before;
    return hm_ram_look(&now, NULL) != 0 || now.blocks.online != before->blocks.online ||
           hm_blocks_zone(&now.blocks) != hm_blocks_zone(&before->blocks);
}

static void add(struct hm_error *all, const char *of, const char *text)
{
    struct hm_error before = *all;
    hm_fail(all, EIO, "%s%s%s: %s", before.text, before.text[0] ? "; " : "", of, text);
}

/* Change each device, even after one has failed. Returns an exit status. */
static int change_each(const struct hm_config *config, const struct hm_namespace_request *request,
                       struct hm_ram_device *device, int n, change_device change, struct hm_error *error)
{
    int status = HM_NAMESPACE_DONE;
    bool is_new = false;
    struct hm_error all = {{0}}, why = {{0}};
    for (int i = 0; i < n; i++) {
        const struct hm_ram_device before = device[i];
        int result = change(config, request, &device[i], &why), number = errno;
        is_new = is_changed(&before) || is_new;
        if (result == 0)
            continue;
        if (status != HM_NAMESPACE_REFUSED)
            status = number == EBUSY ? HM_NAMESPACE_BUSY : HM_NAMESPACE_REFUSED;
        add(&all, device[i].name, why.text);
    }
    if (is_new && hm_topology_renew(config, &why) != 0) {
        status = HM_NAMESPACE_REFUSED;
        add(&all, "the node's new topology could not be found", why.text);
    }
    if (status != HM_NAMESPACE_DONE)
        *error = all;
    return status;
}

/* Check that there is a device on each named socket; where none is named, that there is any. Returns 0 or -1. */
static int check_sockets(const struct hm_set *sockets, const struct hm_ram_device *device, int n,
                         struct hm_error *error)
{
    struct hm_set missing = *sockets;
    char list[64];
    for (int i = 0; i < n; i++)
        if (device[i].socket >= 0)
            hm_set_remove(&missing, (unsigned)device[i].socket);
    if (!hm_set_is_empty(&missing))
        return hm_fail(error, ENODEV, "socket %s has no devdax namespace: ndctl create-namespace --mode=devdax",
                       hm_set_format(&missing, list, sizeof(list)));
    if (n == 0)
        return hm_fail(error, ENODEV, "this node has no devdax namespace: ndctl create-namespace --mode=devdax");
    return 0;
}

/* Block signals, as an interrupt would leave a device between two states. Also put back the kernel's policy for new
 * memory if a killed run has set it aside (ram/autoonline.h). */
static int begin(const struct hm_config *config, struct hm_error *error)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    return hm_autoonline_release(HM_BLOCKS_SYSTEM, config, error);
}

bool hm_namespace_ram_is_online(const struct hm_config *config, const struct hm_namespace_request *request)
{
    struct hm_ram_device *devices = NULL;
    int n = hm_autoonline_is_aside(config) ? 0 : hm_ram_choose(config, &request->sockets, &devices, NULL);
    bool is_online = n > 0 && check_sockets(&request->sockets, devices, n, NULL) == 0;
    for (int i = 0; i < n; i++)
        is_online = is_online && is_all_in(&devices[i], request->zone);
    for (int i = 0; is_online && i < n; i++)
        say_online(&devices[i], "already online", HM_ZONE_NONE);
    free(devices);
    return is_online;
}

int hm_namespace_ram_online(const struct hm_config *config, const struct hm_namespace_request *request,
                            struct hm_error *error)
{
    struct hm_ram_device *devices = NULL;
    int status = HM_NAMESPACE_REFUSED;
    int n = begin(config, error) == 0 ? hm_ram_choose(config, &request->sockets, &devices, error) : -1;
    if (n >= 0 && check_sockets(&request->sockets, devices, n, error) == 0)
        status = change_each(config, request, devices, n, bring_online, error);
    free(devices);
    return status;
}

int hm_namespace_ram_offline(const struct hm_config *config, const struct hm_namespace_request *request,
                             struct hm_error *error)
{
    struct hm_ram_device *devices = NULL;
    struct hm_set nodes;
    int status = HM_NAMESPACE_REFUSED;
    int n = begin(config, error) == 0 ? hm_ram_choose(config, &request->sockets, &devices, error) : -1;
    hm_set_clear(&nodes);
    for (int i = 0; i < n; i++)
        if (devices[i].blocks.online > 0)
            hm_set_add(&nodes, (unsigned)devices[i].node);
    /* Check before any device is touched: a process's pages on one of them would move to another, and later from it. */
    if (n >= 0 && !hm_set_is_empty(&nodes) && hm_ram_refuse_living(&nodes, error) != 0)
        status = errno == EBUSY ? HM_NAMESPACE_BUSY : HM_NAMESPACE_REFUSED;
    else if (n >= 0)
        status = change_each(config, request, devices, n, take_offline, error);
    free(devices);
    return status;
}
