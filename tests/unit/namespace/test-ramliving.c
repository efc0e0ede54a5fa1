/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that no memory is taken from processes that use it; the devices are simulated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ramfixture.h"

static void test_nothing_is_taken_from_the_living(void **state)
{
    (void)state;
    fake_ram_fill(0, HM_ZONE_NORMAL, BLOCKS);
    fake_ram_fill(1, HM_ZONE_MOVABLE, BLOCKS);
    fake_ram.living = 1 + 4;
    assert_int_equal(fake_ram_offline(""), HM_NAMESPACE_BUSY);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
    fake_ram_check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_string_equal(fake_ram.error.text, "process 7 (a.out) has 128.0 MiB on node 4-5, and 2 more live there");
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, ""), HM_NAMESPACE_BUSY);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
    assert_string_equal(fake_ram.error.text,
                        "dax0.0: process 7 (a.out) has 128.0 MiB on node 4, and 2 more live there");
    fake_ram_fill(0, HM_ZONE_NORMAL, 3);
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_BUSY);
    assert_int_equal(fake_ram.device[0].block[2], HM_ZONE_NORMAL);
    assert_int_equal(fake_ram.device[0].block[3], HM_ZONE_NONE);
    assert_int_equal(fake_ram_offline("1"), HM_NAMESPACE_DONE);
}

/* The first device takes minutes. A process may come meanwhile, so processes are looked for again before the second. */
static void test_who_came_to_live_there_meanwhile_keeps_their_memory(void **state)
{
    (void)state;
    fake_ram_fill(0, HM_ZONE_MOVABLE, BLOCKS);
    fake_ram_fill(1, HM_ZONE_MOVABLE, BLOCKS);
    fake_ram.lives_after = 1 + 5;
    assert_int_equal(fake_ram_offline(""), HM_NAMESPACE_BUSY);
    fake_ram_check(0, HM_RAM_DEVDAX, HM_ZONE_NONE);
    fake_ram_check(1, HM_RAM_KMEM, HM_ZONE_MOVABLE);
    assert_string_equal(fake_ram.error.text,
                        "dax1.0: process 7 (a.out) has 128.0 MiB on node 5, and 2 more live there");
}

/* Emptying a device takes time, too. A process that comes meanwhile is noticed before the last block goes, or at least
 * after it. */
static void test_who_came_while_it_was_emptied_keeps_the_node(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        enum hm_zone zone = i / 2 ? HM_ZONE_MOVABLE : HM_ZONE_NORMAL;
        fake_ram_set_up(state);
        fake_ram_fill(0, zone, BLOCKS);
        fake_ram.lives_after_offline = 1 + 4;
        fake_ram.comes_last = i % 2;
        assert_int_equal(fake_ram_offline("0"), HM_NAMESPACE_BUSY);
        assert_int_equal(fake_ram.had_last_taken, fake_ram.comes_last);
        fake_ram_check(0, HM_RAM_KMEM, zone);
        assert_string_equal(fake_ram.error.text,
                            "dax0.0: process 7 (a.out) has 128.0 MiB on node 4, and 2 more live there");
    }
}

/* A change of the zone also takes the memory away for a while. */
static void test_who_came_while_the_zone_was_changed_keeps_the_node(void **state)
{
    (void)state;
    fake_ram_fill(0, HM_ZONE_NORMAL, BLOCKS);
    fake_ram.lives_after_offline = 1 + 4;
    assert_int_equal(fake_ram_online(HM_ZONE_MOVABLE, "0"), HM_NAMESPACE_BUSY);
    assert_false(fake_ram.had_last_taken);
    fake_ram_check(0, HM_RAM_KMEM, HM_ZONE_NORMAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing_is_taken_from_the_living, fake_ram_set_up),
        cmocka_unit_test_setup(test_who_came_to_live_there_meanwhile_keeps_their_memory, fake_ram_set_up),
        cmocka_unit_test_setup(test_who_came_while_it_was_emptied_keeps_the_node, fake_ram_set_up),
        cmocka_unit_test_setup(test_who_came_while_the_zone_was_changed_keeps_the_node, fake_ram_set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
