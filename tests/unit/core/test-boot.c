/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a child process writes the file of the node's topology, and that a child that hangs is given up. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/look.h"
#include "core/tiers/boot.h"
#include "core/topology/discover.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_topology topology;
static int n_found;
static enum { ENDS, HANGS_AFTERWARDS, HANGS_AT_ONCE } child;

int hm_discover(const char *path, struct hm_topology *found, struct hm_error *error)
{
    (void)path, (void)error;
    n_found++;
    memset(found, 0, sizeof(*found));
    found->n_nodes = found->n_sockets = 1;
    found->distance[0][0] = 10;
    hm_set_add(&found->socket_cpus[0], 3);
    found->node[0] = (struct hm_node){.sysfs_tier = -1, .allowed = true, .capacity_bytes = 1 << 30};
    return 0;
}

int hm_look(int (*look)(const void *question, void *found), const void *question, void *found, size_t size,
            int patience_ms)
{
    assert_true(size > 0 && patience_ms <= 5000);
    errno = child == HANGS_AT_ONCE ? 0 : look(question, found);
    if (child != ENDS)
        errno = ETIMEDOUT;
    return errno == 0 ? 0 : -1;
}

static bool is_kept(void)
{
    return access(scratch_path("run/topology"), F_OK) == 0;
}

static int set_up(void **state)
{
    (void)state;
    scratch_remove(scratch_path("run"));
    snprintf(config.run_dir, sizeof(config.run_dir), "%s/run", scratch);
    n_found = 0;
    child = ENDS;
    return 0;
}

static void is_found_once(void **state)
{
    struct hm_error error = {0};
    (void)state;
    for (int i = 0; i < 2; i++)
        assert_int_equal(hm_topology_of_node(&config, &topology, &error), 0);
    assert_true(is_kept());
    assert_int_equal(n_found, 1);
    assert_int_equal(hm_topology_renew(&config, &error), 0);
    assert_int_equal(n_found, 2);
}

/* A user can make it last for ever to replace the old file (boot.c). The new file is in its place by then. */
static void a_file_that_is_replaced_but_hangs_is_good(void **state)
{
    struct hm_error error = {0};
    (void)state;
    child = HANGS_AFTERWARDS;
    assert_int_equal(hm_topology_of_node(&config, &topology, &error), 0);
    assert_string_equal(error.text, "");
    assert_int_equal(topology.n_nodes, 1);
    child = HANGS_AT_ONCE;
    assert_int_equal(unlink(scratch_path("run/topology")), 0);
    assert_int_equal(hm_topology_of_node(&config, &topology, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_false(is_kept()); /* no other process writes it */
}

static void says_why_it_is_not_kept(void **state)
{
    struct hm_error error = {0};
    (void)state;
    assert_int_equal(hm_topology_of_node(&config, &topology, &error), 0);
    assert_int_equal(unlink(scratch_path("run/topology")), 0);
    assert_int_equal(mkdir(scratch_path("run/topology"), 0700), 0);
    assert_int_equal(hm_topology_of_node(&config, &topology, &error), -1);
    assert_int_equal(errno, EISDIR);
    assert_non_null(strstr(error.text, "/run/topology: Is a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(is_found_once, set_up),
        cmocka_unit_test_setup(a_file_that_is_replaced_but_hangs_is_good, set_up),
        cmocka_unit_test_setup(says_why_it_is_not_kept, set_up),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
