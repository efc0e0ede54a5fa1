/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the topology cache: what this version wrote, or another one with further fields, is read back. Nothing else is
 * accepted. */
#include <errno.h>
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
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

struct fixture {
    char folder[64], path[96];
    struct hm_topology written, read;
};

static void write_good(struct fixture *fixture)
{
    struct hm_error error = {""};
    if (hm_topologycache_write(fixture->folder, &fixture->written, &error) < 0)
        fail_msg("%s", error.text);
}

static void read_all(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

/* Replace the value of the line that begins with `path`. */
static void patch(const struct fixture *fixture, const char *path, const char *value)
{
    static char text[65536];
    char line[256];
    read_all(fixture->path, text, sizeof(text));
    snprintf(line, sizeof(line), "\n%s ", path);
    char *from = strstr(text, line), *to = from ? strchr(from + 1, '\n') : NULL;
    if (!to)
        fail_msg("no line of %s", path);
    FILE *file = fopen(fixture->path, "we");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s%s", (int)(from - text), text, line, value, to);
    fclose(file);
}

static void fails(struct fixture *fixture, int number, const char *words)
{
    struct hm_error error = {""};
    errno = 0;
    int result = hm_topologycache_read(fixture->folder, &fixture->read, &error);
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
    memcpy(fixture->written.distance[0], (uint8_t[]){10, 21}, 2);
    memcpy(fixture->written.distance[1], (uint8_t[]){21, 10}, 2);
    hm_set_add(&fixture->written.socket_cpus[0], 3);
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
    int result = rmdir(fixture->folder); /* fails if a temporary file was left */
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

    assert_int_equal(hm_topologycache_write("/nonexistent", &fixture->written, &error), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent/topology"));
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    assert_int_equal(hm_topologycache_write(fixture->folder, &fixture->written, &error), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(rmdir(fixture->path), 0);
}

/* A process may be killed before it renames its draft. */
static void drafts_of_killed_processes_go(void **state)
{
    struct fixture *fixture = *state;
    const struct {
        const char *name;
        bool goes;
    } drafts[] = {{scratch_path("cache/topology.%d", (int)getppid()), false},
                  {scratch_path("cache/topology.%d", 1 << 30), true}, /* above every pid */
                  {scratch_path("cache/topology.%d", (int)getpid()), true},
                  {scratch_path("cache/topology.-1"), false},
                  {scratch_path("cache/topology.%dx", 1 << 30), false}};
    for (size_t i = 0; i < N_ROWS(drafts); i++)
        scratch_write(drafts[i].name, "");
    write_good(fixture);
    for (size_t i = 0; i < N_ROWS(drafts); i++)
        if ((unlink(drafts[i].name) != 0) != drafts[i].goes)
            fail_msg("%s", drafts[i].name);
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
    if (geteuid() == 0) { /* only root can change a file's owner */
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
    write_good(fixture);
    assert_int_equal(rename(fixture->path, other), 0);
    assert_int_equal(symlink(other, fixture->path), 0);
    assert_int_equal(hm_topologycache_read(fixture->folder, &fixture->read, &error), -1);
    assert_true(errno == ELOOP || errno == EPERM);
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkfifo(fixture->path, 0644), 0);
    assert_int_equal(hm_topologycache_read(fixture->folder, &fixture->read, &error), -1);
    assert_int_equal(unlink(other), 0);
}

static void fails_on_torn_files(void **state)
{
    struct fixture *fixture = *state;
    struct stat status;

    write_good(fixture);
    assert_int_equal(stat(fixture->path, &status), 0);
    const off_t sizes[] = {0, 1, 100, status.st_size - 1};
    for (size_t i = 0; i < N_ROWS(sizes); i++) {
        write_good(fixture);
        assert_int_equal(truncate(fixture->path, sizes[i]), 0);
        fails(fixture, EBADMSG, "torn");
    }
    assert_int_equal(truncate(fixture->path, 1 << 20), 0);
    fails(fixture, EBADMSG, "1048576 bytes");
}

static void fails_on_other_versions_and_boots(void **state)
{
    struct fixture *fixture = *state;

    FILE *file = fopen(fixture->path, "we");
    assert_non_null(file);
    fputs("hybridmem topology 9\nend\n", file);
    fclose(file);
    fails(fixture, EBADMSG, "version");
    write_good(fixture);
    patch(fixture, "boot_id", "00000000-0000-0000-0000-000000000000");
    fails(fixture, ESTALE, "another boot");
    write_good(fixture);
    patch(fixture, "has_memory", "8191"); /* a node that no machine has */
    fails(fixture, ESTALE, "was written when other nodes had memory");
    assert_int_equal(hm_topologycache_read_older(fixture->folder, &fixture->read, NULL), -1);
    assert_int_equal(errno, ESTALE);
}

/* Memory has come online, and the new topology is not written yet: steps go on with what was there before. */
static void an_older_one_suffices_for_steps(void **state)
{
    struct fixture *fixture = *state;
    write_good(fixture);
    patch(fixture, "has_memory", ""); /* now node 0 has memory, too */
    fails(fixture, ESTALE, "was written when other nodes had memory");
    assert_int_equal(hm_topologycache_read_older(fixture->folder, &fixture->read, NULL), 0);
    assert_int_equal(fixture->read.n_nodes, 2);
}

static void fails_on_values_out_of_range(void **state)
{
    struct fixture *fixture = *state;
    static const char *const rows[][2] = {
        {"topology.n_nodes", "-1"},           {"topology.n_nodes", "129"},
        {"topology.n_sockets", "-1"},         {"topology.n_sockets", "33"},
        {"topology.node.0.id", "-1"},         {"topology.node.1.id", "8192"},
        {"topology.node.1.id", "0"}, /* not ascending */
        {"topology.node.0.socket", "1"},      {"topology.node.0.socket", "-2"},
        {"topology.node.0.kind", "core"},     {"topology.node.0.kind_origin", "7"},
        {"topology.node.0.sysfs_tier", "-2"}, {"topology.node.1.read_latency_ns.origin", "somewhere"},
        {"topology.node.1.has_cpus", "2"},    {"topology.distance.1.to", "10 256"},
    };

    for (size_t i = 0; i < N_ROWS(rows); i++) {
        write_good(fixture);
        patch(fixture, rows[i][0], rows[i][1]);
        fails(fixture, EBADMSG, "out of range");
    }
}

/* The file of a later version, with fields that this version does not know. */
static void reads_what_another_version_wrote(void **state)
{
    struct fixture *fixture = *state;
    struct hm_error error = {""};
    write_good(fixture);
    patch(fixture, "topology.n_sockets", "1\ntopology.later x\ntopology.node.0.later y");
    if (hm_topologycache_read(fixture->folder, &fixture->read, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(fixture->read.n_nodes, 2);
    assert_int_equal(fixture->read.distance[1][0], 21);
}

static void reads_what_was_written(void **state)
{
    struct fixture *fixture = *state;
    struct hm_error error = {""};
    struct stat status;

    for (int i = 0; i < 2; i++) { /* the second time it replaces the first file */
        mode_t before = umask(i ? 0 : 077);
        write_good(fixture);
        umask(before);
        assert_int_equal(stat(fixture->path, &status), 0);
        assert_int_equal(status.st_mode & 07777, 0644);
    }
    if (hm_topologycache_read(fixture->folder, &fixture->read, &error) < 0)
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
        cmocka_unit_test_setup_teardown(an_older_one_suffices_for_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_where_it_cannot_write, setup, teardown),
        cmocka_unit_test_setup_teardown(drafts_of_killed_processes_go, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_other_owners_and_modes, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_what_is_no_file, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_torn_files, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_other_versions_and_boots, setup, teardown),
        cmocka_unit_test_setup_teardown(fails_on_values_out_of_range, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_what_was_written, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_what_another_version_wrote, setup, teardown),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
