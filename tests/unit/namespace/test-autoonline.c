/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that the kernel's policy for new memory is set aside and put back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "namespace/ram/autoonline.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static bool is_read_only;
static struct hm_config config;
static struct hm_error error;

int hm_file_write(const char *path, const char *text, struct hm_error *why)
{
    if (is_read_only)
        return hm_fail(why, EROFS, "cannot write %s", path);
    scratch_write(path, text);
    return 0;
}

static void set_policy(const char *word)
{
    scratch_write(scratch_path("memory/auto_online_blocks"), word);
}

static void assert_policy(const char *word)
{
    char policy[32];
    assert_int_equal(hm_file_read(scratch_path("memory/auto_online_blocks"), policy, sizeof(policy), NULL), 0);
    assert_string_equal(policy, word);
}

static bool is_kept(void)
{
    return access(scratch_path("root/node/auto_online_blocks"), F_OK) == 0;
}

static int setup(void **state)
{
    int result = scratch_make(state) | mkdir(scratch_path("memory"), 0700);
    snprintf(config.run_dir, sizeof(config.run_dir), "%s", scratch);
    return result;
}

static void test_each_policy_is_set_aside_and_put_back(void **state)
{
    (void)state;
    static const char *const words[] = {"offline", "online", "online_kernel", "online_movable"};
    for (size_t i = 0; i < N_ROWS(words); i++) {
        set_policy(words[i]);
        assert_int_equal(hm_autoonline_hold(scratch, &config, &error), 0);
        assert_policy("offline");
        assert_int_equal(is_kept(), i > 0); /* the policy "offline" does not have to be put back */
        for (int twice = 0; twice < 2; twice++) {
            assert_int_equal(hm_autoonline_release(scratch, &config, &error), 0);
            assert_policy(words[i]);
            assert_false(is_kept());
        }
    }
}

static void test_what_is_not_known_is_left_alone(void **state)
{
    (void)state;
    set_policy("online_some");
    assert_int_equal(hm_autoonline_hold(scratch, &config, &error), -1);
    assert_policy("online_some");
    assert_false(is_kept());
    /* The file with the policy to put back is empty, as after a kill, or has a word that is no policy. */
    scratch_write(scratch_path("root/node/auto_online_blocks"), "");
    assert_int_equal(hm_autoonline_release(scratch, &config, &error), 0);
    scratch_write(scratch_path("root/node/auto_online_blocks"), "online_movable_or_what_comes_to_mind");
    assert_int_equal(hm_autoonline_release(scratch, &config, &error), 0);
    assert_policy("online_some");
    assert_false(is_kept());
}

static void test_a_policy_that_cannot_be_written(void **state)
{
    (void)state;
    set_policy("online");
    is_read_only = true;
    assert_int_equal(hm_autoonline_hold(scratch, &config, &error), -1);
    assert_false(is_kept());
    is_read_only = false;
    assert_int_equal(hm_autoonline_hold(scratch, &config, &error), 0);
    is_read_only = true;
    assert_int_equal(hm_autoonline_release(scratch, &config, &error), -1);
    assert_true(is_kept());
    is_read_only = false;
    assert_int_equal(hm_autoonline_release(scratch, &config, &error), 0);
    assert_policy("online");
    assert_false(is_kept());
}

/* An earlier version kept the policy in run_dir itself, as it did with all that hybridmem-namespace keeps. */
static void what_an_earlier_version_kept_is_found(void **state)
{
    (void)state;
    static const char *const names[] = {"auto_online_blocks", "namespace.lock", "trials", "wiped"};
    struct hm_config old = config;
    snprintf(old.run_dir, sizeof(old.run_dir), "%s", scratch_path("old"));
    assert_int_equal(mkdir(old.run_dir, 0711), 0);
    for (size_t i = 0; i < N_ROWS(names); i++)
        scratch_write(scratch_path("old/%s", names[i]), "online");
    assert_true(hm_autoonline_is_aside(&old));
    for (size_t i = 0; i < N_ROWS(names); i++)
        assert_int_equal(access(scratch_path("old/root/node/%s", names[i]), F_OK), 0);
    set_policy("offline");
    assert_int_equal(hm_autoonline_release(scratch, &old, &error), 0);
    assert_policy("online");
    assert_false(hm_autoonline_is_aside(&old));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_policy_is_set_aside_and_put_back),
        cmocka_unit_test(test_what_is_not_known_is_left_alone),
        cmocka_unit_test(test_a_policy_that_cannot_be_written),
        cmocka_unit_test(what_an_earlier_version_kept_is_found),
    };
    return cmocka_run_group_tests(tests, setup, scratch_drop);
}
