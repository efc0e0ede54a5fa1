/* SPDX-License-Identifier: Apache-2.0 */
#include "ramfixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/tiers/boot.h"
#include "namespace/mount/holders.h"
#include "namespace/pmem/driver.h"
#include "namespace/ram/autoonline.h"
#include "namespace/ram/blocks.h"
#include "namespace/ram/nodeholders.h"

struct fake_ram fake_ram;

const struct hm_driver hm_driver_kmem = {"kmem", "/none"};

int hm_topology_of_node(const struct hm_config *of, struct hm_topology *topology, struct hm_error *why)
{
    (void)of, (void)topology, (void)why;
    return 0;
}

int hm_topology_renew(const struct hm_config *of, struct hm_error *why)
{
    (void)of;
    fake_ram.renewed++;
    return fake_ram.can_renew ? 0 : hm_fail(why, EIO, "no hwloc");
}

int hm_autoonline_hold(const char *system, const struct hm_config *of, struct hm_error *why)
{
    (void)system, (void)of, (void)why;
    fake_ram.is_held = true;
    return 0;
}

int hm_autoonline_release(const char *system, const struct hm_config *of, struct hm_error *why)
{
    (void)system, (void)of;
    if (fake_ram.is_held && fake_ram.stays_held)
        return hm_fail(why, EIO, "the policy is not put back");
    fake_ram.is_held = false;
    return 0;
}

int hm_node_holder_find(const struct hm_set *nodes, struct hm_node_holder *holder, struct hm_error *why)
{
    (void)why;
    if (fake_ram.living == 0 || !hm_set_has(nodes, (unsigned)fake_ram.living - 1))
        return 0;
    *holder = (struct hm_node_holder){.pid = 7, .name = "a.out", .use = {.bytes = BLOCK}, .others = 2};
    return 1;
}

int hm_holders_find(const char *device, double end_s, char *out, size_t size)
{
    (void)end_s;
    assert_memory_equal(device, "/dev/dax", 8);
    snprintf(out, size, "%s", fake_ram.is_open ? "7 (a.out)" : "");
    return fake_ram.is_open;
}

uint64_t hm_blocks_size(const char *system, struct hm_error *why)
{
    (void)system, (void)why;
    return BLOCK;
}

int hm_driver_load(const struct hm_driver *driver, struct hm_error *why)
{
    return fake_ram.no_module ? hm_fail(why, ENODEV, "the kernel module %s is not loaded, and cannot be", driver->name)
                              : 0;
}

static int index_of(const struct hm_ram_device *device)
{
    return device->name[3] - '0';
}

int hm_ram_look(struct hm_ram_device *device, struct hm_error *why)
{
    (void)why;
    errno = 0; /* reading sysfs may change errno */
    int i = index_of(device);
    device->driver = fake_ram.device[i].driver;
    device->blocks = (struct hm_blocks){.bytes = BLOCK};
    for (unsigned j = 0; j < BLOCKS && device->driver == HM_RAM_KMEM; j++) {
        device->blocks.n++;
        if (fake_ram.device[i].block[j] == HM_ZONE_NONE)
            continue;
        if (device->blocks.online++ == 0)
            device->blocks.first_online = j;
        *(fake_ram.device[i].block[j] == HM_ZONE_MOVABLE ? &device->blocks.movable : &device->blocks.normal) += 1;
    }
    return 0;
}

int hm_ram_find(const struct hm_topology *topology, struct hm_ram_device **devices, struct hm_error *why)
{
    (void)topology;
    *devices = calloc(DEVICES, sizeof(**devices));
    assert_non_null(*devices);
    for (int i = 0; i < DEVICES; i++) {
        (*devices)[i] =
            (struct hm_ram_device){.socket = i, .node = fake_ram.device[i].node, .bytes = fake_ram.device[i].bytes};
        snprintf((*devices)[i].name, sizeof((*devices)[i].name), "dax%d.0", i);
        hm_ram_look(&(*devices)[i], why);
    }
    return DEVICES;
}

int hm_ram_bind(const struct hm_ram_device *device, enum hm_ram_driver driver, struct hm_error *why)
{
    int i = index_of(device);
    for (int j = 0; j < BLOCKS; j++)
        assert_int_equal(fake_ram.device[i].block[j], HM_ZONE_NONE);
    fake_ram.held_at_bind = fake_ram.is_held;
    bool fails =
        driver == HM_RAM_KMEM ? fake_ram.device[i].is_refused : driver == HM_RAM_DEVDAX && fake_ram.device[i].stays;
    fake_ram.device[i].driver = fails ? HM_RAM_UNBOUND : driver;
    if (fake_ram.lives_after)
        fake_ram.living = fake_ram.lives_after;
    return fake_ram.device[i].driver == driver ? 0 : hm_fail(why, EINVAL, "cannot give kmem %s", device->name);
}

int hm_ram_online(const struct hm_ram_device *device, enum hm_zone zone, struct hm_error *why)
{
    (void)why;
    int i = index_of(device);
    bool is_other = fake_ram.device[i].others > 0 && fake_ram.device[i].others-- > 0;
    assert_int_equal(fake_ram.device[i].driver, HM_RAM_KMEM);
    for (int j = 0; j < BLOCKS; j++)
        if (fake_ram.device[i].block[j] == HM_ZONE_NONE)
            fake_ram.device[i].block[j] = is_other && j % 2 ? fake_ram.other_zone : zone;
    return 0;
}

static int last_online(int i)
{
    for (int j = BLOCKS - 1; j >= 0; j--)
        if (fake_ram.device[i].block[j] != HM_ZONE_NONE)
            return j;
    return -1;
}

int hm_ram_offline(const struct hm_ram_device *device, bool with_last, unsigned patience_s, struct hm_error *why)
{
    int i = index_of(device), last = last_online(i);
    assert_int_equal(patience_s, 3);
    for (int j = 0; j < BLOCKS; j++) {
        if (j == last && !with_last)
            continue;
        if (j == fake_ram.device[i].stuck && fake_ram.device[i].block[j] != HM_ZONE_NONE)
            return hm_fail(why, EBUSY, "cannot take offline %s", device->name);
        fake_ram.device[i].block[j] = HM_ZONE_NONE;
    }
    if (fake_ram.lives_after_offline && with_last == fake_ram.comes_last)
        fake_ram.living = fake_ram.lives_after_offline;
    fake_ram.had_last_taken = fake_ram.had_last_taken || with_last;
    return 0;
}

void fake_ram_fill(int device, enum hm_zone zone, int n)
{
    fake_ram.device[device].driver = HM_RAM_KMEM;
    for (int i = 0; i < BLOCKS; i++)
        fake_ram.device[device].block[i] = i < n ? zone : HM_ZONE_NONE;
}

void fake_ram_check(int device, enum hm_ram_driver driver, enum hm_zone zone)
{
    assert_int_equal(fake_ram.device[device].driver, driver);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(fake_ram.device[device].block[i], zone);
}

int fake_ram_set_up(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        memset(&fake_ram.device[i], 0, sizeof(fake_ram.device[i]));
        fake_ram.device[i].driver = HM_RAM_DEVDAX;
        fake_ram.device[i].stuck = -1;
        fake_ram.device[i].node = 4 + i;
        fake_ram.device[i].bytes = BLOCKS * BLOCK;
    }
    fake_ram.living = fake_ram.lives_after = fake_ram.lives_after_offline = fake_ram.renewed = 0;
    fake_ram.can_renew = true;
    fake_ram.comes_last = fake_ram.had_last_taken = false;
    fake_ram.is_open = fake_ram.no_module = fake_ram.is_held = fake_ram.held_at_bind = fake_ram.stays_held = false;
    fake_ram.other_zone = HM_ZONE_NORMAL;
    fake_ram.error.text[0] = '\0';
    return 0;
}

static struct hm_namespace_request request(enum hm_zone zone, const char *sockets)
{
    struct hm_namespace_request made = {.zone = zone, .patience_s = 3};
    assert_int_equal(hm_set_parse(&made.sockets, sockets, NULL), 0);
    return made;
}

int fake_ram_online(enum hm_zone zone, const char *sockets)
{
    struct hm_namespace_request made = request(zone, sockets);
    return hm_namespace_ram_online(&fake_ram.config, &made, &fake_ram.error);
}

bool fake_ram_is_online(enum hm_zone zone, const char *sockets)
{
    struct hm_namespace_request made = request(zone, sockets);
    return hm_namespace_ram_is_online(&fake_ram.config, &made);
}

int fake_ram_offline(const char *sockets)
{
    struct hm_namespace_request made = request(HM_ZONE_MOVABLE, sockets);
    return hm_namespace_ram_offline(&fake_ram.config, &made, &fake_ram.error);
}
