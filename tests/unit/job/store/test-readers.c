/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what root does with a record while the group of the records' readers cannot be looked up, as the directory
 * service hangs, or no program can be started for the look-up. Any user can run the test, as nothing is opened before
 * that group is known.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/config/lookup.h"
#include "job/store/dayfile.h"
#include "storefixture.h"
#include "unit/lib/scratch.h"

static unsigned n_lookups;

uid_t __wrap_geteuid(void);
int __wrap_hm_lookup_group(const char *name, gid_t *gid, struct hm_error *error);

uid_t __wrap_geteuid(void)
{
    return 0;
}

int __wrap_hm_lookup_group(const char *name, gid_t *gid, struct hm_error *error)
{
    (void)gid;
    n_lookups++;
    return hm_fail(error, EIO, "group %s was not looked up", name); /* as where no program can be started for it */
}

/* A folder that is made now would have root's group until a process that knows the readers opens it. */
static void test_no_record_is_written_while_the_readers_are_not_known(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct hm_error error = {{0}};
        assert_int_equal(hm_store_append(&config, &key, "{}", &error), -1);
        assert_int_equal(errno, ETIMEDOUT);
        assert_string_equal(error.text, "group hybridmem was not looked up");
        assert_int_equal(count_in("records"), 0);
    }
    assert_int_equal(n_lookups, 1); /* the second record does not wait */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_record_is_written_while_the_readers_are_not_known, store_set_up,
                                        store_tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
