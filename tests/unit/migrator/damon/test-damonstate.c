/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the DAMON broker's state file: the broker reads it, whether its own, an earlier or a later version wrote it,
 * and refuses it if it is of another boot or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bootid.h"
#include "migrator/damon/broker/state.h"
#include "unit/lib/scratch.h"

#define OTHER_BOOT "00000000-0000-0000-0000-000000000000"

static char path[256];

static void put(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const char *boot_id, const char *lines)
{
    char text[512];
    int length = snprintf(text, sizeof(text), "hybridmem damon 1\nboot_id %s\n%send\n", boot_id, lines);
    put(text, (size_t)length);
}

static const char *this_boot(void)
{
    static char boot_id[40];
    return hm_boot_id(boot_id, sizeof(boot_id));
}

static void assert_read(uint32_t n, uint32_t mark)
{
    struct hm_damon_owned owned = {0};
    assert_int_equal(hm_damon_state_read(path, &owned), 0);
    assert_int_equal(owned.n, n);
    assert_int_equal(owned.mark, mark);
}

static void assert_refused(void)
{
    struct hm_damon_owned owned = {.n = 9, .mark = 8};
    assert_int_equal(hm_damon_state_read(path, &owned), -1);
    assert_int_equal(owned.n, 9);
    assert_int_equal(owned.mark, 8);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    const struct hm_damon_owned first = {.n = 16, .mark = 1000007}, second = {.n = 2, .mark = 1000009};
    assert_int_equal(hm_damon_state_write(path, &first, NULL), 0);
    assert_read(16, 1000007);
    assert_int_equal(hm_damon_state_write(path, &second, NULL), 0);
    assert_read(2, 1000009);
}

static void lines_of_a_later_version_are_skipped(void **state)
{
    (void)state;
    put_text(this_boot(), "owned.n 3\nowned.mark 1000001\nowned.colour red\n");
    assert_read(3, 1000001);
}

static void the_raw_structure_of_earlier_builds_is_read(void **state)
{
    (void)state;
    struct {
        uint32_t magic, n, mark, reserved;
        char boot_id[40];
    } raw = {.magic = 0x484d4453, .n = 4, .mark = 1000002};
    snprintf(raw.boot_id, sizeof(raw.boot_id), "%s", this_boot());
    put(&raw, sizeof(raw));
    assert_read(4, 1000002);
    raw.magic++;
    put(&raw, sizeof(raw));
    assert_refused();
}

static void what_is_no_state_of_this_boot_is_refused(void **state)
{
    (void)state;
    put_text(OTHER_BOOT, "owned.n 3\nowned.mark 1000001\n");
    assert_refused();
    put_text(this_boot(), "owned.n 0\nowned.mark 1000001\n");
    assert_refused();
    put_text(this_boot(), "owned.n 1025\nowned.mark 1000001\n");
    assert_refused();
    put("", 0);
    assert_refused();
    assert_int_equal(remove(path), 0);
    assert_refused();
}

static int set_up(void **state)
{
    int result = scratch_make(state);
    snprintf(path, sizeof(path), "%s", scratch_path("damon.state"));
    return result;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(lines_of_a_later_version_are_skipped),
        cmocka_unit_test(the_raw_structure_of_earlier_builds_is_read),
        cmocka_unit_test(what_is_no_state_of_this_boot_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
