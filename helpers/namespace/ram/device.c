/* SPDX-License-Identifier: Apache-2.0 */
#include "device.h"

#include <daxctl/libdaxctl.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/files.h"
#include "base/patience.h"
#include "namespace/pmem/parts.h"

__attribute__((format(printf, 6, 0))) static void drop_message(struct daxctl_ctx *context, int priority,
                                                               const char *file, int line, const char *function,
                                                               const char *format, va_list arguments)
{
    (void)context, (void)priority, (void)file, (void)line, (void)function, (void)format, (void)arguments;
}

/* A function for one device and its region. Returns 0 to go on with the next device. */
typedef int (*use_device)(struct ndctl_region *region, struct daxctl_dev *device, void *data, struct hm_error *error);

/* Call `use` for the devices of one namespace, except those of size 0. Does nothing if hybridmem has made the namespace
 * or it is not devdax. */
static int use_namespace(struct ndctl_namespace *namespace, use_device use, void *data, struct hm_error *error)
{
    struct hm_owner owner;
    struct daxctl_dev *device;
    struct ndctl_dax *dax = ndctl_namespace_get_dax(namespace);
    struct daxctl_region *daxes = dax && !hm_pmem_is_ours(namespace, &owner) ? ndctl_dax_get_daxctl_region(dax) : NULL;
    int result = 0;
    if (!daxes)
        return 0;
    daxctl_set_log_fn(daxctl_region_get_ctx(daxes), drop_message);
    daxctl_dev_foreach(daxes, device)
    {
        if (daxctl_dev_get_size(device) > 0)
            result = use(ndctl_namespace_get_region(namespace), device, data, error);
        if (result != 0)
            break;
    }
    return result;
}

/* Call `use` for all devices. Returns 0, the first value of `use` that is not 0, or -1. */
static int use_each(use_device use, void *data, struct hm_error *error)
{
    struct hm_pmem *pmem;
    struct ndctl_namespace *namespace;
    int result = hm_pmem_open(&pmem, error);
    for (int i = 0; result == 0 && i < pmem->n_regions; i++) {
        ndctl_namespace_foreach (pmem->region[i], namespace) {
            result = use_namespace(namespace, use, data, error);
            if (result != 0)
                break;
        }
    }
    int number = errno;
    hm_pmem_close(pmem);
    errno = number;
    return result;
}

static int read_state(struct daxctl_dev *from, struct hm_ram_device *device, struct hm_error *error)
{
    device->blocks = (struct hm_blocks){0};
    if (!daxctl_dev_is_enabled(from))
        device->driver = HM_RAM_UNBOUND;
    else
        device->driver = daxctl_dev_get_memory(from) ? HM_RAM_KMEM : HM_RAM_DEVDAX;
    if (device->driver != HM_RAM_KMEM)
        return 0;
    return hm_blocks_read(HM_BLOCKS_SYSTEM, device->node, device->start, device->bytes, &device->blocks, error);
}

struct found {
    const struct hm_topology *topology;
    struct hm_ram_device *each;
    int n;
};

static int add_device(struct ndctl_region *region, struct daxctl_dev *from, void *data, struct hm_error *error)
{
    struct found *found = data;
    struct hm_ram_device *more = realloc(found->each, (size_t)(found->n + 1) * sizeof(*more));
    if (!more)
        return hm_fail(error, ENOMEM, "no memory for %d devices", found->n + 1);
    found->each = more;
    more += found->n++;
    *more = (struct hm_ram_device){
        .socket = hm_topology_socket_of(found->topology, ndctl_region_get_numa_node(region)),
        .node = daxctl_dev_get_target_node(from),
        .start = daxctl_dev_get_resource(from),
        .bytes = daxctl_dev_get_size(from),
    };
    hm_text_copy(more->name, daxctl_dev_get_devname(from), sizeof(more->name));
    hm_text_copy(more->region, ndctl_region_get_devname(region), sizeof(more->region));
    return read_state(from, more, error);
}

int hm_ram_find(const struct hm_topology *topology, struct hm_ram_device **devices, struct hm_error *error)
{
    struct found found = {.topology = topology};
    if (use_each(add_device, &found, error) != 0) {
        free(found.each);
        found = (struct found){.n = -1};
    }
    *devices = found.each;
    return found.n;
}

/* What to do with the device `name`, by the function `make`: look, bind, online or offline. */
struct change {
    const char *name;
    int (*make)(struct daxctl_dev *device, const struct change *change, struct hm_error *error);
    struct hm_ram_device *look; /* for look: gets the state */
    enum hm_ram_driver driver;  /* for bind: the new driver */
    enum hm_zone zone;          /* for online */
    bool with_last;             /* for offline: also the highest block */
    unsigned patience_s;        /* for offline */
};

/* Change the device if it has the right name. Returns 1 when it was changed, so that use_each ends. */
static int change_one(struct ndctl_region *region, struct daxctl_dev *device, void *data, struct hm_error *error)
{
    const struct change *change = data;
    (void)region;
    if (strcmp(daxctl_dev_get_devname(device), change->name) != 0)
        return 0;
    return change->make(device, change, error) == 0 ? 1 : -1;
}

static int make_change(struct change *change, struct hm_error *error)
{
    int result = use_each(change_one, change, error);
    if (result == 0)
        return hm_fail(error, ENODEV, "%s is gone", change->name);
    return result > 0 ? 0 : -1;
}

static int look(struct daxctl_dev *device, const struct change *change, struct hm_error *error)
{
    return read_state(device, change->look, error);
}

int hm_ram_look(struct hm_ram_device *device, struct hm_error *error)
{
    struct change change = {.name = device->name, .make = look, .look = device};
    return make_change(&change, error);
}

static int bind(struct daxctl_dev *device, const struct change *change, struct hm_error *error)
{
    if (hm_pmem_step(daxctl_dev_disable(device), "take the driver from", change->name, error) != 0)
        return -1;
    switch (change->driver) {
    case HM_RAM_DEVDAX:
        return hm_pmem_step(daxctl_dev_enable_devdax(device), "give device_dax", change->name, error);
    case HM_RAM_KMEM:
        return hm_pmem_step(daxctl_dev_enable_ram(device), "give kmem", change->name, error);
    default:
        return 0;
    }
}

int hm_ram_bind(const struct hm_ram_device *device, enum hm_ram_driver driver, struct hm_error *error)
{
    struct change change = {.name = device->name, .make = bind, .driver = driver};
    return make_change(&change, error);
}

/* Bring the blocks online. -EBUSY says that the library then found a block in another zone. That is no error here:
 * settle() of commands/ram.c reads the zones itself, and tries again. */
static int online(struct daxctl_dev *device, const struct change *change, struct hm_error *error)
{
    struct daxctl_memory *memory = daxctl_dev_get_memory(device);
    if (!memory)
        return hm_fail(error, ENXIO, "%s is no memory", change->name);
    int result =
        change->zone == HM_ZONE_MOVABLE ? daxctl_memory_online(memory) : daxctl_memory_online_no_movable(memory);
    return result == -EBUSY ? 0 : hm_pmem_step(result, "bring online", change->name, error);
}

int hm_ram_online(const struct hm_ram_device *device, enum hm_zone zone, struct hm_error *error)
{
    struct change change = {.name = device->name, .make = online, .zone = zone};
    return make_change(&change, error);
}

static void wake(int number)
{
    (void)number;
}

/* Take blocks offline, with a signal after `seconds` and then each second: for a pinned page in a movable block the
 * kernel would wait until a signal comes. Returns 0 or -errno. */
static int offline_for(struct daxctl_dev *device, bool with_last, unsigned seconds)
{
    const struct itimerval none = {.it_value.tv_sec = 0};
    const struct itimerval often = {.it_interval.tv_sec = 1, .it_value.tv_sec = seconds ? seconds : 1};
    const struct sigaction waking = {.sa_handler = wake};
    struct sigaction before;
    sigaction(SIGALRM, &waking, &before);
    setitimer(ITIMER_REAL, &often, NULL);
    int result = hm_blocks_take_offline(HM_BLOCKS_SYSTEM, daxctl_dev_get_target_node(device),
                                        daxctl_dev_get_resource(device), daxctl_dev_get_size(device), with_last);
    result = result == 0 ? 0 : -errno;
    setitimer(ITIMER_REAL, &none, NULL);
    sigaction(SIGALRM, &before, NULL);
    return result;
}

/* The patience is for each block: a large device may take as long as it needs in all. */
static int offline(struct daxctl_dev *device, const struct change *change, struct hm_error *error)
{
    struct daxctl_memory *memory = daxctl_dev_get_memory(device);
    uint64_t since_ns = 0;
    int result;
    int left, most_left = change->with_last ? 0 : 1; /* blocks that are still online, and how many may be in the end */
    if (!memory)
        return hm_fail(error, ENXIO, "%s is no memory", change->name);
    int before = daxctl_memory_is_online(memory);
    do {
        result = offline_for(device, change->with_last, change->patience_s);
        left = daxctl_memory_is_online(memory);
        if (left > most_left && left < before)
            since_ns = 0;
        else if (result == -EINTR)
            break;
        before = left;
    } while (left > most_left && (result == -EINTR || result == -EBUSY || result == -EAGAIN) &&
             hm_patience_pause(&since_ns, change->patience_s));
    if (left >= 0 && left <= most_left)
        return 0;
    if (result == -EINTR || result == -EAGAIN || result >= 0)
        result = -EBUSY;
    return hm_pmem_step(left < 0 ? left : result, "take offline", change->name, error);
}

int hm_ram_offline(const struct hm_ram_device *device, bool with_last, unsigned patience_s, struct hm_error *error)
{
    struct change change = {.name = device->name, .make = offline, .with_last = with_last, .patience_s = patience_s};
    return make_change(&change, error);
}
