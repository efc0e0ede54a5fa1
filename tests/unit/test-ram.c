/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a device whose memory cannot go where it should; the devices are pretended. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "helpers/job/topology.h"
#include "helpers/namespace/autoonline.h"
#include "helpers/namespace/driver.h"
#include "helpers/namespace/holders.h"
#include "helpers/namespace/nodeholders.h"
#include "helpers/namespace/parts.h"

#define BLOCKS 8
#define BLOCK (UINT64_C(128) << 20)
#define DEVICES 2

/* One device with the zone of each of its blocks. */
static struct {
    enum hm_ram_driver driver;
    enum hm_zone block[BLOCKS];
    int stuck;       /* this block cannot be taken offline, -1: all can */
    unsigned others; /* so often another program brings new blocks online first */
    bool is_refused; /* by kmem */
    bool stays;      /* no device again, without a driver */
    int node;
    uint64_t bytes;
} there[DEVICES];
static int living;      /* on these nodes, one more than the node: 0 for none */
static int lives_after; /* a first device has been taken: the same for `living` */
static bool can_renew, is_open, no_module, is_held, held_at_bind, stays_held;
static int renewed;
static enum hm_zone other_zone;
static struct hm_config config;
static struct hm_error error;

const struct hm_driver hm_driver_kmem = {"kmem", "/none"};

int __wrap_hm_topology_of_node(const struct hm_config *of, struct hm_topology *topology, struct hm_error *why);
int __wrap_hm_topology_renew(const struct hm_config *of, struct hm_error *why);
int __wrap_hm_autoonline_hold(const struct hm_config *of, struct hm_error *why);
int __wrap_hm_autoonline_release(const struct hm_config *of, struct hm_error *why);
int __wrap_hm_node_holder_find(const struct hm_set *nodes, struct hm_node_holder *holder, struct hm_error *why);
char *__wrap_hm_holders_name(const char *device, char *out, size_t size);
uint64_t __wrap_hm_blocks_size(const char *system, struct hm_error *why);

int __wrap_hm_topology_of_node(const struct hm_config *of, struct hm_topology *topology, struct hm_error *why)
{
    (void)of, (void)topology, (void)why;
    return 0;
}

int __wrap_hm_topology_renew(const struct hm_config *of, struct hm_error *why)
{
    (void)of;
    renewed++;
    return can_renew ? 0 : hm_fail(why, EIO, "no hwloc");
}

int __wrap_hm_autoonline_hold(const struct hm_config *of, struct hm_error *why)
{
    (void)of, (void)why;
    is_held = true;
    return 0;
}

int __wrap_hm_autoonline_release(const struct hm_config *of, struct hm_error *why)
{
    (void)of;
    if (is_held && stays_held)
        return hm_fail(why, EIO, "the policy is not put back");
    is_held = false;
    return 0;
}

int __wrap_hm_node_holder_find(const struct hm_set *nodes, struct hm_node_holder *holder, struct hm_error *why)
{
    (void)why;
    if (living == 0 || !hm_set_has(nodes, (unsigned)living - 1))
        return 0;
    *holder = (struct hm_node_holder){.pid = 7, .name = "a.out", .use = {.bytes = BLOCK}, .others = 2};
    return 1;
}

char *__wrap_hm_holders_name(const char *device, char *out, size_t size)
{
    assert_memory_equal(device, "/dev/dax", 8);
    snprintf(out, size, "%s", is_open ? "7 (a.out)" : "");
    return out;
}

uint64_t __wrap_hm_blocks_size(const char *system, struct hm_error *why)
{
    (void)system, (void)why;
    return BLOCK;
}

int hm_driver_load(const struct hm_driver *driver, struct hm_error *why)
{
    return no_module ? hm_fail(why, ENODEV, "the kernel module %s is not loaded, and cannot be", driver->name) : 0;
}

static int index_of(const struct hm_ram_device *device)
{
    return device->name[3] - '0';
}

int hm_ram_look(struct hm_ram_device *device, struct hm_error *why)
{
    (void)why;
    errno = 0; /* as reading sysfs may leave it */
    int i = index_of(device);
    device->driver = there[i].driver;
    device->blocks = (struct hm_blocks){.bytes = BLOCK};
    for (unsigned j = 0; j < BLOCKS && device->driver == HM_RAM_KMEM; j++) {
        device->blocks.n++;
        if (there[i].block[j] == HM_ZONE_NONE)
            continue;
        if (device->blocks.online++ == 0)
            device->blocks.first_online = j;
        *(there[i].block[j] == HM_ZONE_MOVABLE ? &device->blocks.movable : &device->blocks.normal) += 1;
    }
    return 0;
}

int hm_ram_find(const struct hm_topology *topology, struct hm_ram_device **devices, struct hm_error *why)
{
    (void)topology;
    *devices = calloc(DEVICES, sizeof(**devices));
    assert_non_null(*devices);
    for (int i = 0; i < DEVICES; i++) {
        (*devices)[i] = (struct hm_ram_device){.socket = i, .node = there[i].node, .bytes = there[i].bytes};
        snprintf((*devices)[i].name, sizeof((*devices)[i].name), "dax%d.0", i);
        hm_ram_look(&(*devices)[i], why);
    }
    return DEVICES;
}

int hm_ram_bind(const struct hm_ram_device *device, enum hm_ram_driver driver, struct hm_error *why)
{
    int i = index_of(device);
    for (int j = 0; j < BLOCKS; j++)
        assert_int_equal(there[i].block[j], HM_ZONE_NONE);
    held_at_bind = is_held;
    bool fails = driver == HM_RAM_KMEM ? there[i].is_refused : driver == HM_RAM_DEVDAX && there[i].stays;
    there[i].driver = fails ? HM_RAM_UNBOUND : driver;
    if (lives_after)
        living = lives_after;
    return there[i].driver == driver ? 0 : hm_fail(why, EINVAL, "cannot give kmem %s", device->name);
}

int hm_ram_online(const struct hm_ram_device *device, enum hm_zone zone, struct hm_error *why)
{
    (void)why;
    int i = index_of(device);
    bool is_other = there[i].others > 0 && there[i].others-- > 0;
    assert_int_equal(there[i].driver, HM_RAM_KMEM);
    for (int j = 0; j < BLOCKS; j++)
        if (there[i].block[j] == HM_ZONE_NONE)
            there[i].block[j] = is_other && j % 2 ? other_zone : zone;
    return 0;
}

int hm_ram_offline(const struct hm_ram_device *device, unsigned patience_s, struct hm_error *why)
{
    int i = index_of(device);
    assert_int_equal(patience_s, 3);
    for (int j = 0; j < BLOCKS; j++) {
        if (j == there[i].stuck && there[i].block[j] != HM_ZONE_NONE)
            return hm_fail(why, EBUSY, "cannot take offline %s", device->name);
        there[i].block[j] = HM_ZONE_NONE;
    }
    return 0;
}

static void fill(int device, enum hm_zone zone, int n)
{
    there[device].driver = HM_RAM_KMEM;
    for (int i = 0; i < BLOCKS; i++)
        there[device].block[i] = i < n ? zone : HM_ZONE_NONE;
}

static void check(int device, enum hm_ram_driver driver, enum hm_zone zone)
{
    assert_int_equal(there[device].driver, driver);
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(there[device].block[i], zone);
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < DEVICES; i++) {
        memset(&there[i], 0, sizeof(there[i]));
        there[i].driver = HM_RAM_DEVDAX;
        there[i].stuck = -1;
        there[i].node = 4 + i;
        there[i].bytes = BLOCKS * BLOCK;
    }
    living = lives_after = renewed = 0;
    can_renew = true;
    is_open = no_module = is_held = held_at_bind = stays_held = false;
    other_zone = HM_ZONE_NORMAL;
    error.text[0] = '\0';
    return 0;
}

static struct hm_namespace_request request(enum hm_zone zone, const char *sockets)
{
    struct hm_namespace_request made = {.zone = zone, .patience_s = 3};
    assert_int_equal(hm_set_parse(&made.sockets, sockets, NULL), 0);
    return made;
}

static int online(enum hm_zone zone, const char *sockets)
{
    struct hm_namespace_request made = request(zone, sockets);
    return hm_namespace_ram_online(&config, &made, &error);
}

static int offline(const char *sockets)
{
    struct hm_namespace_request made = request(HM_ZONE_MOVABLE, sockets);
    return hm_namespace_ram_offline(&config, &made, &error);
}

static void test_there_and_back_in_both_zones(void **state)
{
    (void)state;
    for (enum hm_zone zone = HM_ZONE_MOVABLE; zone <= HM_ZONE_NORMAL; zone++) {
        renewed = 0;
        assert_int_equal(online(zone, ""), HM_NAMESPACE_DONE);
        check(0, HM_RAM_KMEM, zone);
        check(1, HM_RAM_KMEM, zone);
        assert_true(held_at_bind && !is_held);
        assert_int_equal(renewed, 1);
        assert_int_equal(online(zone, ""), HM_NAMESPACE_DONE);
        assert_int_equal(renewed, 1);
        assert_int_equal(offline(""), HM_NAMESPACE_DONE);
        check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
        check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
        assert_int_equal(renewed, 2);
        assert_int_equal(offline(""), HM_NAMESPACE_DONE);
        assert_int_equal(renewed, 2);
    }
    assert_string_equal(error.text, "");
    can_renew = false;
    assert_int_equal(online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "the node's topology is not known anew: no hwloc");
}

static void test_what_a_killed_run_left_is_finished(void **state)
{
    (void)state;
    there[0].driver = there[1].driver = HM_RAM_UNBOUND;
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_DONE);
    check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    fill(0, HM_ZONE_MOVABLE, 0);
    assert_int_equal(offline(""), HM_NAMESPACE_DONE);
    check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
}

static void test_only_the_sockets_that_are_named(void **state)
{
    (void)state;
    assert_int_equal(online(HM_ZONE_MOVABLE, "1"), HM_NAMESPACE_DONE);
    check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_int_equal(offline("0"), HM_NAMESPACE_DONE);
    check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_int_equal(online(HM_ZONE_MOVABLE, "1,3"), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "socket 3 has no devdax namespace: ndctl create-namespace --mode=devdax");
}

static void test_blocks_in_the_wrong_zone_are_redone(void **state)
{
    (void)state;
    fill(0, HM_ZONE_NORMAL, BLOCKS);
    fill(1, HM_ZONE_NORMAL, 3);
    assert_int_equal(online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_DONE);
    check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    there[0].block[5] = HM_ZONE_NORMAL;
    assert_int_equal(online(HM_ZONE_NORMAL, ""), HM_NAMESPACE_DONE);
    check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
}

static void test_another_program_that_is_faster(void **state)
{
    (void)state;
    there[0].others = 1;
    there[1].others = 100;
    assert_int_equal(online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_REFUSED);
    check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
    assert_string_equal(error.text, "dax1.0: another program brings its blocks online in another zone (a rule of "
                                    "udev's?)");
}

static void test_what_cannot_be_emptied_is_as_it_was(void **state)
{
    (void)state;
    fill(0, HM_ZONE_NORMAL, BLOCKS);
    there[0].stuck = 5;
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_BUSY);
    check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
    assert_string_equal(error.text, "dax0.0: memory5 of 8 blocks cannot be emptied: in zone normal the kernel's own "
                                    "pages stay until a reboot");
    fill(0, HM_ZONE_MOVABLE, BLOCKS);
    fill(1, HM_ZONE_MOVABLE, BLOCKS);
    assert_int_equal(offline(""), HM_NAMESPACE_BUSY);
    check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
    assert_string_equal(error.text, "dax0.0: memory5 of 8 blocks cannot be emptied: its pages are pinned, or there is "
                                    "no room for them elsewhere");
}

static void test_nothing_is_taken_from_the_living(void **state)
{
    (void)state;
    fill(0, HM_ZONE_NORMAL, BLOCKS);
    fill(1, HM_ZONE_MOVABLE, BLOCKS);
    living = 1 + 4;
    assert_int_equal(offline(""), HM_NAMESPACE_BUSY);
    check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
    check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_string_equal(error.text, "process 7 (a.out) has 128.0 MiB on node 4-5, and 2 more live there");
    assert_int_equal(online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_BUSY);
    check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
    assert_string_equal(error.text, "dax0.0: process 7 (a.out) has 128.0 MiB on node 4, and 2 more live there");
    fill(0, HM_ZONE_NORMAL, 3);
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_BUSY);
    assert_int_equal(there[0].block[2], HM_ZONE_NORMAL);
    assert_int_equal(there[0].block[3], HM_ZONE_NONE);
    assert_int_equal(offline("1"), HM_NAMESPACE_DONE);
}

/* The first device may have taken minutes. */
static void test_who_came_to_live_there_meanwhile_keeps_his_memory(void **state)
{
    (void)state;
    fill(0, HM_ZONE_MOVABLE, BLOCKS);
    fill(1, HM_ZONE_MOVABLE, BLOCKS);
    lives_after = 1 + 5;
    assert_int_equal(offline(""), HM_NAMESPACE_BUSY);
    check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_string_equal(error.text, "dax1.0: process 7 (a.out) has 128.0 MiB on node 5, and 2 more live there");
}

static void test_memory_that_cannot_be_a_device_again_stays_memory(void **state)
{
    (void)state;
    fill(0, HM_ZONE_NORMAL, BLOCKS);
    there[0].stays = true;
    assert_int_equal(offline("0"), HM_NAMESPACE_REFUSED);
    check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
}

static void test_a_policy_that_is_not_put_back_is_a_failure(void **state)
{
    (void)state;
    stays_held = true;
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "dax0.0: the policy is not put back");
    check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
}

static void test_a_device_that_cannot_be_memory_stays_a_device(void **state)
{
    (void)state;
    there[0].is_refused = true;
    assert_int_equal(online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "dax0.0: cannot give kmem dax0.0");
    check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_false(is_held);
    there[0].node = -1;
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "dax0.0: the firmware names no NUMA node for it");
    there[0].node = 4;
    there[0].bytes = BLOCK / 2;
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "dax0.0: its 64.0 MiB have no whole memory block of 128.0 MiB");
    there[0].bytes = BLOCK;
    is_open = true;
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_BUSY);
    assert_string_equal(error.text, "dax0.0: it is open in 7 (a.out)");
    is_open = false;
    no_module = true;
    assert_int_equal(online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "dax0.0: the kernel module kmem is not loaded, and cannot be");
    check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_there_and_back_in_both_zones, setup),
        cmocka_unit_test_setup(test_what_a_killed_run_left_is_finished, setup),
        cmocka_unit_test_setup(test_only_the_sockets_that_are_named, setup),
        cmocka_unit_test_setup(test_blocks_in_the_wrong_zone_are_redone, setup),
        cmocka_unit_test_setup(test_another_program_that_is_faster, setup),
        cmocka_unit_test_setup(test_what_cannot_be_emptied_is_as_it_was, setup),
        cmocka_unit_test_setup(test_nothing_is_taken_from_the_living, setup),
        cmocka_unit_test_setup(test_who_came_to_live_there_meanwhile_keeps_his_memory, setup),
        cmocka_unit_test_setup(test_memory_that_cannot_be_a_device_again_stays_memory, setup),
        cmocka_unit_test_setup(test_a_policy_that_is_not_put_back_is_a_failure, setup),
        cmocka_unit_test_setup(test_a_device_that_cannot_be_memory_stays_a_device, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
