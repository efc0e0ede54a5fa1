/* SPDX-License-Identifier: Apache-2.0 */
/* The topology cache: what is written is read back, and nothing else is believed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/topology/cache.h"
#include "unit/lib/scratch.h"

struct fixture {
    char folder[64], path[96];
    struct hm_topology written, read;
};

static void write_good(struct fixture *fixture)
{
    struct hm_error error = {""};
    if (hm_tierscache_write(fixture->path, &fixture->written, &error) < 0)
        fail_msg("%s", error.text);
}

/* Sets the bytes at `offset` of the file. */
static void patch(const char *path, off_t offset, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, size, offset), size);
    close(fd);
}

/* Where the topology begins: at the end of the file, whose layout is the module's own. */
static off_t topology_offset(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_size - (off_t)sizeof(struct hm_topology);
}

static void fails(struct fixture *fixture, int number, const char *words)
{
    struct hm_error error = {""};
    errno = 0;
    int result = hm_tierscache_read(fixture->path, &fixture->read, &error);
    if (result != -1 || errno != number || !strstr(error.text, words))
        fail_msg("%d, errno %d (wanted %d), \"%s\" (wanted %s)", result, errno, number, error.text, words);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    if (!fixture)
        return -1;
    snprintf(fixture->folder, sizeof(fixture->folder), "%s/cache", scratch);
    if (mkdir(fixture->folder, 0755) != 0)
        return -1;
    snprintf(fixture->path, sizeof(fixture->path), "%s/topology", fixture->folder);
    fixture->written.n_nodes = 2;
    fixture->written.n_sockets = 1;
    fixture->written.has_free = true;
    for (int i = 0; i < 2; i++)
        fixture->written.node[i] = (struct hm_node){.id = i * 3,
                                                    .sysfs_tier = -1,
                                                    .allowed = true,
                                                    .capacity_bytes = 1 << 30,
                                                    .free_bytes = 1 << 20,
                                                    .read_latency_ns = {80, HM_ORIGIN_ATTRIBUTES}};
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    unlink(fixture->path);
    int result = rmdir(fixture->folder); /* fails where a temporary file was left */
    free(fixture);
    return result;
}

static void fails_without_a_file(void **state)
{
    fails(*state, ENOENT, "topology");
}

static void fails_where_it_cannot_write(void **state)
{
    struct fixture *fixture = *state;
    struct hm_error error = {""};

    assert_int_equal(hm_tierscache_write("/nonexistent/topology", &fixture->written, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent/topology"));
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    assert_int_equal(hm_tierscache_write(fixture->path, &fixture->written, &error), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(rmdir(fixture->path), 0);
}

static void fails_on_other_owners_and_modes(void **state)
{
    struct fixture *fixture = *state;

    write_good(fixture);
    assert_int_equal(chmod(fixture->path, 0664), 0);
    fails(fixture, EPERM, "topology");
    assert_int_equal(chmod(fixture->path, 0646), 0);
    fails(fixture, EPERM, "topology");
    assert_int_equal(chmod(fixture->path, 0644), 0);
    if (geteuid() == 0) { /* only root can give a file away */
        assert_int_equal(chown(fixture->path, 12345, 0), 0);
        fails(fixture, EPERM, "topology");
    }
}

static void fails_on_what_is_no_file(void **state)
{
    struct fixture *fixture = *state;
    char other[128];
    struct hm_error error = {""};

    snprintf(other, sizeof(other), "%s/other", fixture->folder);
    assert_int_equal(hm_tierscache_write(other, &fixture->written, NULL), 0);
    assert_int_equal(symlink(other, fixture->path), 0);
    assert_int_equal(hm_tierscache_read(fixture->path, &fixture->read, &error), -1);
    assert_true(errno == ELOOP || errno == EPERM);
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkfifo(fixture->path, 0644), 0);
    assert_int_equal(hm_tierscache_read(fixture->path, &fixture->read, &error), -1);
    assert_int_equal(unlink(other), 0);
}

static void fails_on_other_sizes(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;

    write_good(fixture);
    assert_int_equal(stat(fixture->path, &status), 0);
    const off_t sizes[] = {0, 1, status.st_size - 1, status.st_size + 1};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        assert_int_equal(truncate(fixture->path, sizes[i]), 0);
        fails(fixture, EBADMSG, "bytes");
    }
}

static void fails_on_other_versions_and_boots(void **state)
{
    struct fixture *fixture = *state;
    const uint32_t wrong = 0x12345678;

    for (off_t offset = 0; offset < 12; offset += 4) { /* magic, version, size */
        write_good(fixture);
        patch(fixture->path, offset, &wrong, sizeof(wrong));
        fails(fixture, EBADMSG, "another version");
    }
    write_good(fixture);
    patch(fixture->path, 16, "00000000", 8); /* boot id */
    fails(fixture, ESTALE, "another boot");
    write_good(fixture);
    patch(fixture->path, topology_offset(fixture->path) - 1, "\x80",
          1); /* nodes with memory: one that no machine has */
    fails(fixture, ESTALE, "nodes that have memory now");
}

static void fails_on_values_out_of_range(void **state)
{
    struct fixture *fixture = *state;
    const struct {
        size_t offset;
        int value;
    } rows[] = {
        {offsetof(struct hm_topology, n_nodes), -1},
        {offsetof(struct hm_topology, n_nodes), HM_MAX_NODES + 1},
        {offsetof(struct hm_topology, n_sockets), -1},
        {offsetof(struct hm_topology, n_sockets), HM_MAX_SOCKETS + 1},
        {offsetof(struct hm_topology, node[0].id), -1},
        {offsetof(struct hm_topology, node[1].id), HM_SET_BITS},
        {offsetof(struct hm_topology, node[1].id), 0}, /* not ascending */
        {offsetof(struct hm_topology, node[0].socket), 1},
        {offsetof(struct hm_topology, node[0].socket), -2},
        {offsetof(struct hm_topology, node[0].kind), HM_KIND_HBM + 1},
        {offsetof(struct hm_topology, node[0].kind_origin), -1},
        {offsetof(struct hm_topology, node[0].sysfs_tier), -2},
        {offsetof(struct hm_topology, node[1].read_latency_ns.origin), HM_ORIGIN_HWLOC + 1},
        {offsetof(struct hm_topology, node[1].write_bandwidth_mbs.origin), -1},
    };
    const size_t flags[] = {
        offsetof(struct hm_topology, node[0].has_cpus), offsetof(struct hm_topology, node[0].allowed),
        offsetof(struct hm_topology, node[1].is_device), offsetof(struct hm_topology, node[1].movable_only)};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_good(fixture);
        patch(fixture->path, topology_offset(fixture->path) + (off_t)rows[i].offset, &rows[i].value, sizeof(int));
        fails(fixture, EBADMSG, "out of range");
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        write_good(fixture);
        patch(fixture->path, topology_offset(fixture->path) + (off_t)flags[i], "\2", 1);
        fails(fixture, EBADMSG, "out of range");
    }
}

static void reads_what_was_written(void **state)
{
    struct fixture *fixture = *state;
    struct hm_error error = {""};
    struct stat status;

    for (int i = 0; i < 2; i++) { /* the second time over the first */
        mode_t before = umask(i ? 0 : 077);
        write_good(fixture);
        umask(before);
        assert_int_equal(stat(fixture->path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0644);
    }
    if (hm_tierscache_read(fixture->path, &fixture->read, &error) < 0)
        fail_msg("%s", error.text);
    assert_false(fixture->read.has_free);
    assert_int_equal(fixture->read.node[1].free_bytes, 0);
    fixture->read.has_free = true;
    for (int i = 0; i < 2; i++)
        fixture->read.node[i].free_bytes = 1 << 20;
    assert_memory_equal(&fixture->read, &fixture->written, sizeof(fixture->read));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(fails_without_a_file, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_where_it_cannot_write, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_other_owners_and_modes, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_what_is_no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_other_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_other_versions_and_boots, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_values_out_of_range, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_what_was_written, setup, teardown),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
