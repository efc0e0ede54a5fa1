/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how nodes are found and grouped into tiers, for each topology in the fixtures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/tiers/tiers.h"
#include "core/topology/discover.h"
#include "unit/lib/rows.h"

#define TOPOLOGY FIXTURES "/topology/"
#define GIB (1024.0 * 1024 * 1024)

static const struct {
    const char *name;
    /* for each tier "NAME=KIND NODES @SOCKETS CAPACITY LATENCY BANDWIDTH;": in GiB, ns and MB/s, "?" for unknown */
    const char *tiers;
    enum hm_origin order;
    const char *warning; /* part of the only warning; NULL: none */
} fixtures[] = {
    {"optane-2-sockets", "dram=dram 0-1 @0-1 384 81 204000; pmem=pmem 2-3 @0-1 1536 304 78000;", HM_ORIGIN_ATTRIBUTES,
     NULL},
    {"optane-mean-figures", "dram=dram 0-1 @0-1 384 81 204000; pmem=pmem 2-3 @0-1 1536 304 78000;",
     HM_ORIGIN_ATTRIBUTES, NULL},
    {"optane-no-figures", "dram=dram 0-1 @0-1 384 ? ?; pmem=pmem 2-3 @0-1 1536 ? ?;", HM_ORIGIN_HWLOC, NULL},
    {"optane-hidden-by-cpuset", "dram=dram 0 @0 192 81 102000; pmem=pmem 2 @0 768 304 39000;", HM_ORIGIN_ATTRIBUTES,
     "hides nodes 1,3"},
    {"optane-dram-only-cpuset", "dram=dram 0-1 @0-1 384 81 204000;", HM_ORIGIN_HWLOC, "hides nodes 2-3"},
    {"cxl-expander", "dram=dram 0-1 @0-1 512 110 560000; cxl=cxl 2 @0 512 260 56000;", HM_ORIGIN_ATTRIBUTES, NULL},
    {"cxl-expander-old-hwloc", "dram=dram 0-1 @0-1 512 110 560000; cxl=cxl 2 @0 512 260 56000;", HM_ORIGIN_ATTRIBUTES,
     NULL},
    {"cxl-machine-wide", "dram=dram 0-1 @0-1 512 ? ?; cxl=cxl 2 @ 512 ? ?;", HM_ORIGIN_HWLOC, NULL},
    {"cxl-beside-memoryless", "dram=dram 0 @0 256 110 280000; cxl=cxl 2 @1 512 260 56000;", HM_ORIGIN_ATTRIBUTES, NULL},
    {"cxl-faster-than-clusters", "cxl=cxl 8-9 @0-1 1024 250 220000; dram=dram 0-7 @0-1 256 110 560000;",
     HM_ORIGIN_ATTRIBUTES, "tier cxl comes before dram"},
    {"memory-only-no-figures", "fast=unknown 0-1 @0-1 256 ? ?; slow=unknown 2-3 @0-1 1024 ? ?;", HM_ORIGIN_DISTANCE,
     NULL},
    {"memory-only-far-and-near",
     "fast=unknown 0-1 @0-1 256 ? ?; tier2=unknown 2-3 @0-1 1024 ? ?; slow=unknown 4-5 @0-1 1024 ? ?;",
     HM_ORIGIN_DISTANCE, NULL},
    {"hbm-flat-snc4", "hbm=hbm 8-15 @0-1 128 135 1600000; dram=dram 0-7 @0-1 512 120 560000;", HM_ORIGIN_ATTRIBUTES,
     NULL},
    {"hbm-flat-no-figures", "fast=unknown 0-7 @0-1 512 ? ?; slow=unknown 8-15 @0-1 128 ? ?;", HM_ORIGIN_DISTANCE,
     "smaller, as HBM is"},
    {"hbm-flat-knl", "hbm=hbm 1 @0 16 ? 360000; dram=dram 0 @0 96 ? 90000;", HM_ORIGIN_ATTRIBUTES, NULL},
    {"three-tiers",
     "hbm=hbm 4-5 @0-1 64 130 840000; dram=dram 0-1 @0-1 256 100 300000; pmem=pmem 2-3 @0-1 1024 310 76000;",
     HM_ORIGIN_ATTRIBUTES, NULL},
    {"one-node", "fast=unknown 0 @0 64 ? ?;", HM_ORIGIN_HWLOC, NULL},
    {"two-sockets", "fast=unknown 0-1 @0-1 384 ? ?;", HM_ORIGIN_HWLOC, NULL},
    {"memoryless-and-offline", "fast=unknown 2 @1 128 ? ?; slow=unknown 5 @1 512 ? ?;", HM_ORIGIN_DISTANCE, NULL},
    {"sub-numa-clusters", "fast=unknown 0-7 @0-1 256 110 609400;", HM_ORIGIN_HWLOC, NULL},
    {"memory-mode", "fast=unknown 0-1 @0-1 1536 ? ?;", HM_ORIGIN_HWLOC, NULL},
    {"partial-figures", "fast=unknown 0-1 @0-1 384 81 ?; slow=unknown 2-3 @0-1 1536 304 78000;", HM_ORIGIN_ATTRIBUTES,
     NULL},
    {"unequal-sockets", "fast=unknown 0-1 @0-1 320 81 170000;", HM_ORIGIN_HWLOC, NULL},
    {"gpu-memory", "fast=unknown 0-1 @0-1 960 120 1000000;", HM_ORIGIN_HWLOC, NULL},
    /* Recorded in guests, with hwloc 2.12, which calls the DRAM "HBM" and the slow nodes "DRAM". */
    {"guest-optane", "fast=unknown 0-1 @0-1 0.9 80 212992; slow=unknown 2-3 @0-1 1.9 300 79872;", HM_ORIGIN_ATTRIBUTES,
     NULL},
    {"guest-optane-kmem",
     "dram=dram 0-1 @0-1 0.9 80 212992; tier2=unknown 2-3 @0-1 1.9 300 79872; pmem=pmem 4-5 @0-1 2 ? ?;",
     HM_ORIGIN_NONE, "nothing tells"},
    {"guest-cpuset", "dram=dram 0-1 @0-1 0.9 80 212992;", HM_ORIGIN_HWLOC, "hides nodes 2-5"},
};

static void add(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void add(char *text, size_t size, const char *format, ...)
{
    size_t length = strlen(text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text + length, size - length, format, arguments);
    va_end(arguments);
}

static void add_figure(char *text, size_t size, const struct hm_figure *figure)
{
    if (figure->origin == HM_ORIGIN_NONE)
        add(text, size, " ?");
    else
        add(text, size, " %llu", (unsigned long long)figure->value);
}

/* Write the tiers in the form of the table. */
static void describe(const struct hm_tiers *tiers, char *text, size_t size)
{
    text[0] = '\0';
    for (int t = 0; t < tiers->n_tiers; t++) {
        const struct hm_tier *tier = &tiers->tier[t];
        struct hm_set sockets;
        char nodes[64], near[64];
        hm_set_clear(&sockets);
        for (int i = 0; i < tiers->topology.n_nodes; i++) {
            const struct hm_node *node = &tiers->topology.node[i];
            if (node->socket >= 0 && hm_set_has(&tier->nodes, (unsigned)node->id))
                hm_set_add(&sockets, (unsigned)node->socket);
        }
        add(text, size, "%s%s=%s %s @%s %.4g", t ? " " : "", tier->name, hm_kind_name(tier->kind),
            hm_set_format(&tier->nodes, nodes, sizeof(nodes)), hm_set_format(&sockets, near, sizeof(near)),
            (double)(int)((double)tier->capacity_bytes / GIB * 10) / 10);
        add_figure(text, size, &tier->read_latency_ns);
        add_figure(text, size, &tier->read_bandwidth_mbs);
        add(text, size, ";");
    }
}

static int setup(void **state)
{
    *state = calloc(1, sizeof(struct hm_tiers));
    return *state ? 0 : -1;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

static void fails_on_bad_files(void **state)
{
    static const struct {
        const char *path;
        int number;
        const char *words;
    } rows[] = {
        {"/nonexistent/topology.xml", ENOENT, "/nonexistent/topology.xml: No such file"},
        {FIXTURES, EINVAL, "not a file"},
        {TOPOLOGY "README.md", EINVAL, "not a topology in hwloc's XML"},
        {"/dev/null", EINVAL, "not a file"},
    };
    struct hm_tiers *tiers = *state;

    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_error error = {""};
        errno = 0;
        assert_int_equal(hm_discover(rows[i].path, &tiers->topology, &error), -1);
        assert_int_equal(errno, rows[i].number);
        assert_non_null(strstr(error.text, rows[i].words));
    }
}

static void fails_where_all_is_hidden(void **state)
{
    struct hm_tiers *tiers = *state;
    struct hm_error error = {""};

    assert_int_equal(hm_discover(TOPOLOGY "all-hidden.xml", &tiers->topology, &error), 0);
    assert_int_equal(hm_tiers_group(&tiers->topology, NULL, tiers, &error), -1);
    assert_int_equal(errno, ENODEV);
    assert_non_null(strstr(error.text, "hides nodes 0-1"));
}

static void finds_the_tiers_of_each_fixture(void **state)
{
    struct hm_tiers *tiers = *state;

    for (size_t i = 0; i < N_ROWS(fixtures); i++) {
        struct hm_error error = {""};
        char path[512], text[1024];
        snprintf(path, sizeof(path), TOPOLOGY "%s.xml", fixtures[i].name);
        if (hm_discover(path, &tiers->topology, &error) < 0 ||
            hm_tiers_group(&tiers->topology, NULL, tiers, &error) < 0)
            fail_msg("%s: %s", fixtures[i].name, error.text);
        describe(tiers, text, sizeof(text));
        if (strcmp(text, fixtures[i].tiers) != 0)
            fail_msg("%s:\n found %s\nwanted %s", fixtures[i].name, text, fixtures[i].tiers);
        if (tiers->order_origin != fixtures[i].order)
            fail_msg("%s: ordered by %s, wanted %s", fixtures[i].name, hm_origin_name(tiers->order_origin),
                     hm_origin_name(fixtures[i].order));
        if (tiers->n_warnings != (fixtures[i].warning != NULL) ||
            (fixtures[i].warning && !strstr(tiers->warning[0], fixtures[i].warning)))
            fail_msg("%s: %d warnings, the first \"%s\"", fixtures[i].name, tiers->n_warnings,
                     tiers->n_warnings ? tiers->warning[0] : "");
        assert_false(tiers->topology.has_free);
    }
}

static void reads_what_is_not_in_tiers(void **state)
{
    struct hm_tiers *tiers = *state;
    struct hm_topology *topology = &tiers->topology;
    struct hm_error error = {""};

    assert_int_equal(hm_discover(TOPOLOGY "memory-mode.xml", topology, &error), 0);
    assert_int_equal(topology->node[0].side_cache_bytes, 96 * (uint64_t)GIB);

    assert_int_equal(hm_discover(TOPOLOGY "gpu-memory.xml", topology, &error), 0);
    assert_int_equal(topology->n_nodes, 4);
    assert_false(topology->node[0].is_device);
    assert_true(topology->node[2].is_device);

    assert_int_equal(hm_discover(TOPOLOGY "cxl-beside-memoryless.xml", topology, &error), 0);
    assert_true(topology->node[1].has_cpus);
    assert_int_equal(topology->node[1].capacity_bytes, 0);
    assert_false(topology->node[2].has_cpus);
    assert_int_equal(topology->distance[1][2], 14);
    assert_int_equal(topology->distance[0][2], 24);

    assert_int_equal(hm_discover(TOPOLOGY "optane-2-sockets.xml", topology, &error), 0);
    assert_int_equal(topology->n_sockets, 2);
    assert_true(hm_set_has(&topology->socket_cpus[1], 2));
    assert_false(hm_set_has(&topology->socket_cpus[1], 1));
    assert_int_equal(hm_set_count(&topology->allowed_cpus), 4);
    assert_int_equal(topology->node[2].write_bandwidth_mbs.value, 39000 / 2);
    assert_int_equal(topology->node[2].socket, 0);

    assert_int_equal(hm_discover(TOPOLOGY "optane-hidden-by-cpuset.xml", topology, &error), 0);
    assert_true(topology->node[0].allowed);
    assert_false(topology->node[1].allowed);
}

/* Discovery has to work on the machine that runs this test, whose memory may grow and shrink meanwhile. Where there is
 * no /sys it has to fail. */
static void reads_this_machine(void **state)
{
    struct hm_tiers *tiers = *state;
    struct hm_error error = {""};

    if (access("/sys/devices/system/cpu", X_OK) < 0) {
        assert_int_equal(hm_discover(NULL, &tiers->topology, &error), -1);
        assert_int_equal(errno, ENOENT);
        assert_non_null(strstr(error.text, "is /sys mounted?"));
        return;
    }
    assert_int_equal(hm_discover(NULL, &tiers->topology, &error), 0);
    assert_int_equal(hm_tiers_group(&tiers->topology, NULL, tiers, &error), 0);
    assert_true(tiers->topology.has_free);
    assert_true(tiers->n_tiers > 0);
    assert_true(tiers->tier[0].capacity_bytes > 0);
    assert_true(tiers->tier[0].free_bytes > 0);
    assert_false(hm_set_is_empty(&tiers->topology.allowed_cpus));
    assert_false(hm_set_is_empty(&tiers->topology.socket_cpus[0]));
    bool has_cpus = false;
    for (int i = 0; i < tiers->topology.n_nodes; i++)
        has_cpus = has_cpus || tiers->topology.node[i].has_cpus;
    assert_true(has_cpus);
}

/* A user's environment must not choose what a process of root reads. It may choose what the user's processes read. */
static void ignores_the_environment_as_root(void **state)
{
    struct hm_tiers *tiers = *state;
    bool is_root = geteuid() == 0;

    setenv("HWLOC_SYNTHETIC", "pack:4 numa:3 pu:1", 1);
    int result = hm_discover(NULL, &tiers->topology, NULL);
    assert_int_equal(getenv("HWLOC_SYNTHETIC") == NULL, is_root);
    if (is_root)
        assert_string_equal(getenv("HWLOC_COMPONENTS"), "linux,stop");
    if (result == 0) /* else there is no /sys, as in the test above */
        assert_int_equal(tiers->topology.has_free, is_root);
    if (result == 0 && !is_root)
        assert_int_equal(tiers->topology.n_sockets, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_on_bad_files),
        cmocka_unit_test(fails_where_all_is_hidden),
        cmocka_unit_test(finds_the_tiers_of_each_fixture),
        cmocka_unit_test(reads_what_is_not_in_tiers),
        cmocka_unit_test(reads_this_machine),
        cmocka_unit_test(ignores_the_environment_as_root),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
