/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the memory of devices is brought online and offline, and what happens to a device where that fails. The
 * devices are simulated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "namespace/ram/autoonline.h"
#include "ramfixture.h"
#include "unit/lib/scratch.h"

static void test_online_and_offline_in_both_zones(void **state)
{
    (void)state;
    for (enum hm_zone zone = HM_ZONE_MOVABLE; zone <= HM_ZONE_NORMAL; zone++) {
        fake_ram.renewed = 0;
        assert_int_equal(fake_ram_online(zone, ""), HM_NAMESPACE_DONE);
        fake_ram_check(0, HM_RAM_KMEM, zone);
        fake_ram_check(1, HM_RAM_KMEM, zone);
        assert_true(fake_ram.held_at_bind && !fake_ram.is_held);
        assert_int_equal(fake_ram.renewed, 1);
        assert_int_equal(fake_ram_online(zone, ""), HM_NAMESPACE_DONE);
        assert_int_equal(fake_ram.renewed, 1);
        assert_int_equal(fake_ram_offline(""), HM_NAMESPACE_DONE);
        fake_ram_check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
        fake_ram_check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
        assert_int_equal(fake_ram.renewed, 2);
        assert_int_equal(fake_ram_offline(""), HM_NAMESPACE_DONE);
        assert_int_equal(fake_ram.renewed, 2);
    }
    assert_string_equal(fake_ram.error.text, "");
    fake_ram.can_renew = false;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_REFUSED);
    assert_string_equal(fake_ram.error.text, "the node's new topology could not be found: no hwloc");
}

static void test_only_what_is_all_online_needs_no_lock(void **state)
{
    (void)state;
    assert_false(fake_ram_is_online(HM_ZONE_MOVABLE, ""));
    fake_ram_fill(0, HM_ZONE_MOVABLE, BLOCKS);
    assert_true(fake_ram_is_online(HM_ZONE_MOVABLE, "0"));
    assert_false(fake_ram_is_online(HM_ZONE_NORMAL, "0"));
    assert_false(fake_ram_is_online(HM_ZONE_MOVABLE, ""));
    fake_ram_fill(1, HM_ZONE_MOVABLE, BLOCKS - 1);
    assert_false(fake_ram_is_online(HM_ZONE_MOVABLE, ""));
    fake_ram_fill(1, HM_ZONE_MOVABLE, BLOCKS);
    assert_true(fake_ram_is_online(HM_ZONE_MOVABLE, ""));
    assert_false(fake_ram_is_online(HM_ZONE_MOVABLE, "0,3"));
    /* a killed run has set the kernel's policy aside: it is put back under the lock */
    snprintf(fake_ram.config.run_dir, sizeof(fake_ram.config.run_dir), "%s", scratch);
    scratch_write(scratch_path(HM_AUTOONLINE_KEPT), "online");
    assert_false(fake_ram_is_online(HM_ZONE_MOVABLE, ""));
}

static void test_what_a_killed_run_left_is_finished(void **state)
{
    (void)state;
    fake_ram.device[0].driver = fake_ram.device[1].driver = HM_RAM_UNBOUND;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_DONE);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    fake_ram_fill(0, HM_ZONE_MOVABLE, 0);
    assert_int_equal(fake_ram_offline(""), HM_NAMESPACE_DONE);
    fake_ram_check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    fake_ram_check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
}

static void test_only_the_sockets_that_are_named(void **state)
{
    (void)state;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "1"), HM_NAMESPACE_DONE);
    fake_ram_check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    fake_ram_check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_int_equal(fake_ram_offline("0"), HM_NAMESPACE_DONE);
    fake_ram_check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "1,3"), HM_NAMESPACE_REFUSED);
    assert_string_equal(fake_ram.error.text, "socket 3 has no devdax namespace: ndctl create-namespace --mode=devdax");
}

static void test_blocks_in_the_wrong_zone_are_redone(void **state)
{
    (void)state;
    fake_ram_fill(0, HM_ZONE_NORMAL, BLOCKS);
    fake_ram_fill(1, HM_ZONE_NORMAL, 3);
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_DONE);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    fake_ram_check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    fake_ram.device[0].block[5] = HM_ZONE_NORMAL;
    assert_int_equal(fake_ram_online(HM_ZONE_NORMAL, ""), HM_NAMESPACE_DONE);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
}

static void test_another_program_that_is_faster(void **state)
{
    (void)state;
    fake_ram.device[0].others = 1;
    fake_ram.device[1].others = 100;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_REFUSED);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    fake_ram_check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
    assert_string_equal(fake_ram.error.text,
                        "dax1.0: another program brings its blocks online in another zone (a rule of "
                        "udev's?)");
}

static void test_what_cannot_be_emptied_is_as_it_was(void **state)
{
    (void)state;
    fake_ram_fill(0, HM_ZONE_NORMAL, BLOCKS);
    fake_ram.device[0].stuck = 5;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_BUSY);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
    assert_string_equal(fake_ram.error.text,
                        "dax0.0: block memory5 (of 8 blocks) cannot be emptied: in zone normal the kernel's own "
                        "pages stay until a reboot");
    fake_ram_fill(0, HM_ZONE_MOVABLE, BLOCKS);
    fake_ram_fill(1, HM_ZONE_MOVABLE, BLOCKS);
    assert_int_equal(fake_ram_offline(""), HM_NAMESPACE_BUSY);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    fake_ram_check(1, HM_RAM_DEVDAX, HM_ZONE_NONE);
    assert_string_equal(fake_ram.error.text,
                        "dax0.0: block memory5 (of 8 blocks) cannot be emptied: its pages are pinned, or no other "
                        "node has room for them");
}

static void test_memory_that_cannot_be_a_device_again_stays_memory(void **state)
{
    (void)state;
    fake_ram_fill(0, HM_ZONE_NORMAL, BLOCKS);
    fake_ram.device[0].stays = true;
    assert_int_equal(fake_ram_offline("0"), HM_NAMESPACE_REFUSED);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
}

static void test_a_policy_that_is_not_put_back_is_a_failure(void **state)
{
    (void)state;
    fake_ram.stays_held = true;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(fake_ram.error.text, "dax0.0: the policy is not put back");
    fake_ram_check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
}

static void test_a_device_that_cannot_be_memory_stays_a_device(void **state)
{
    (void)state;
    fake_ram.device[0].is_refused = true;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_REFUSED);
    assert_string_equal(fake_ram.error.text, "dax0.0: cannot give kmem dax0.0");
    fake_ram_check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    fake_ram_check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_false(fake_ram.is_held);
    fake_ram.device[0].node = -1;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(fake_ram.error.text, "dax0.0: the firmware names no NUMA node for it");
    fake_ram.device[0].node = 4;
    fake_ram.device[0].bytes = BLOCK / 2;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(fake_ram.error.text, "dax0.0: its 64.0 MiB have no whole memory block of 128.0 MiB");
    fake_ram.device[0].bytes = BLOCK;
    fake_ram.is_open = true;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_BUSY);
    assert_string_equal(fake_ram.error.text, "dax0.0: it is open in 7 (a.out)");
    fake_ram.is_open = false;
    fake_ram.no_module = true;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_REFUSED);
    assert_string_equal(fake_ram.error.text, "dax0.0: the kernel module kmem is not loaded, and cannot be");
    fake_ram_check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_online_and_offline_in_both_zones, fake_ram_set_up),
        cmocka_unit_test_setup(test_only_what_is_all_online_needs_no_lock, fake_ram_set_up),
        cmocka_unit_test_setup(test_what_a_killed_run_left_is_finished, fake_ram_set_up),
        cmocka_unit_test_setup(test_only_the_sockets_that_are_named, fake_ram_set_up),
        cmocka_unit_test_setup(test_blocks_in_the_wrong_zone_are_redone, fake_ram_set_up),
        cmocka_unit_test_setup(test_another_program_that_is_faster, fake_ram_set_up),
        cmocka_unit_test_setup(test_what_cannot_be_emptied_is_as_it_was, fake_ram_set_up),
        cmocka_unit_test_setup(test_memory_that_cannot_be_a_device_again_stays_memory, fake_ram_set_up),
        cmocka_unit_test_setup(test_a_policy_that_is_not_put_back_is_a_failure, fake_ram_set_up),
        cmocka_unit_test_setup(test_a_device_that_cannot_be_memory_stays_a_device, fake_ram_set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
