/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how much room NUMA nodes have, and which node a page goes to. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "migrator/move/cpus.h"
#include "migrator/move/nodes.h"
#include "migrator/move/pool.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define KIB UINT64_C(1024)

static const struct {
    const char *active, *inactive, *dirty, *written;
    uint64_t file_kib; /* UINT64_MAX: the text is refused */
} rows[] = {
    {"Active(file): 100 kB", "Inactive(file): 500 kB", "Dirty: 20 kB", "Writeback: 30 kB", 275},
    {"Active(file): 100 kB", "Inactive(file): 0 kB", "Dirty: 0 kB", "Writeback: 0 kB", 50},
    {"Active(file): 0 kB", "Inactive(file): 40 kB", "Dirty: 20 kB", "Writeback: 30 kB", 0},
    {"Active(anon): 9 kB", "Inactive(file): 500 kB", "Dirty: 0 kB", "Writeback: 0 kB", UINT64_MAX},
    {"Active(file): 100 kB", "Inactive: 500 kB", "Dirty: 0 kB", "Writeback: 0 kB", UINT64_MAX},
    {"Active(file): 100 kB", "Inactive(file): 500 kB", "", "Writeback: 0 kB", UINT64_MAX},
    {"Active(file): 100 kB", "Inactive(file): 500 kB", "Dirty: 0 kB", "WritebackTmp: 0 kB", UINT64_MAX},
};

static void half_of_the_cache_is_room(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char text[400];
        uint64_t free_bytes, file_bytes;
        snprintf(text, sizeof(text), "Node 1 MemFree: 1000 kB\nNode 1 %s\nNode 1 %s\nNode 1 %s\nNode 1 %s\n",
                 rows[i].active, rows[i].inactive, rows[i].dirty, rows[i].written);
        errno = 0;
        int result = hm_nodes_parse_free(text, &free_bytes, &file_bytes);
        assert_int_equal(result, rows[i].file_kib == UINT64_MAX ? -1 : 0);
        assert_int_equal(errno, result < 0 ? EBADMSG : 0);
        if (result < 0)
            continue;
        assert_int_equal(free_bytes, 1000 * KIB);
        assert_int_equal(file_bytes, rows[i].file_kib * KIB);
    }
}

/* two fast nodes and a slow one */
static struct hm_nodes make_nodes(void)
{
    struct hm_nodes nodes = {.n_tiers = 2, .n = 3, .index = {[0] = 0, [1] = 1, [2] = 2}};
    for (int i = 0; i < 3; i++)
        nodes.node[i] = (struct hm_node_state){
            .id = i, .tier = i >= 2, .free_bytes = 100 * KIB, .kept_bytes = 60 * KIB, .distance = {20, 10, 30}};
    return nodes;
}

static void the_nearest_node_with_room_above_what_it_keeps_is_taken(void **state)
{
    (void)state;
    struct hm_nodes nodes = make_nodes();
    assert_int_equal(hm_nodes_room(&nodes, 0), 80 * KIB);
    assert_int_equal(hm_nodes_take(&nodes, 1, 0, 40 * KIB), 1);
    assert_int_equal(hm_nodes_take(&nodes, 1, 0, 40 * KIB), 0);
    assert_int_equal(hm_nodes_take(&nodes, 1, 0, 4 * KIB), -1);
    assert_int_equal(hm_nodes_take(&nodes, 1, 1, 4 * KIB), 2);
    nodes.node[0].free_bytes = 10 * KIB; /* less than what is kept */
    assert_int_equal(hm_nodes_room(&nodes, 0), 0);
    hm_nodes_close(&nodes, 2);
    assert_int_equal(hm_nodes_take(&nodes, 1, 1, 4 * KIB), -1);
}

/* Four fast nodes with two CPUs each, on two sockets, and a slow one on the first socket, or one on each. */
static struct hm_nodes make_sockets(int n_slow)
{
    struct hm_nodes nodes = {.n_tiers = 2, .n = 4 + n_slow};
    memset(nodes.of_cpu, -1, sizeof(nodes.of_cpu));
    for (int i = 0; i < nodes.n; i++) {
        struct hm_node_state *node = &nodes.node[i];
        *node = (struct hm_node_state){
            .id = i, .tier = i >= 4, .free_bytes = 16 * hm_huge_pages() * hm_page_size(), .n_cpus = i < 4 ? 2 : 0};
        nodes.index[i] = (int8_t)i;
        for (int other = 0; other < nodes.n; other++) {
            int here = i < 4 ? i / 2 : i - 4, there = other < 4 ? other / 2 : other - 4;
            node->distance[other] = (uint8_t)(i == other ? 10 : here != there ? 21 : i < 4 && other < 4 ? 12 : 14);
        }
    }
    for (int cpu = 0; cpu < 8; cpu++)
        nodes.of_cpu[cpu] = (int8_t)(cpu / 2);
    return nodes;
}

/* Sub-NUMA clusters, or sockets of which only one has slow memory: where a page is does not tell who uses it. */
static void pages_go_near_to_the_process(void **state)
{
    (void)state;
    static const struct {
        int n_slow, from;
        const char *cpus;
        unsigned taken[6]; /* of 16 huge pages, by node */
    } tables[] = {
        {2, 4, "0-1", {16}},         {2, 4, "2", {0, 16}},
        {2, 4, "0-3", {8, 8}},       /* a whole socket: its nodes in turn */
        {2, 4, "0-7", {8, 8}},       /* everywhere: near to the page */
        {2, 5, "0-7", {0, 0, 8, 8}}, /* the same */
        {2, 4, "4-7", {0, 0, 8, 8}}, /* the page was allocated on the other socket */
        {1, 4, "4-7", {0, 0, 8, 8}}, /* there is no slow memory on its own */
        {1, 4, "4-6", {0, 0, 16}},   /* most of its CPUs are there */
        {2, 4, "9", {8, 8}},         /* nothing is known of its CPUs */
        {2, 4, "", {8, 8}},          /* it has ended */
    };
    uint64_t huge_bytes = hm_huge_pages() * hm_page_size();
    for (size_t t = 0; t < N_ROWS(tables); t++) {
        struct hm_nodes nodes = make_sockets(tables[t].n_slow);
        struct hm_set cpus;
        assert_true(hm_nodes_matter(&nodes));
        assert_int_equal(hm_set_parse(&cpus, tables[t].cpus, NULL), 0);
        hm_nodes_bind(&nodes, &cpus);
        int last = -1, changes = 0;
        for (unsigned i = 0; i < 16 * hm_huge_pages(); i++) { /* page by page */
            int node = hm_nodes_take(&nodes, tables[t].from, 0, hm_page_size());
            changes += node != last;
            last = node;
        }
        assert_in_range(changes, 1, 18);
        for (int i = 0; i < nodes.n; i++)
            if (16 - (nodes.node[i].free_bytes + huge_bytes / 2) / huge_bytes != tables[t].taken[i])
                fail_msg("row %zu, node %d: %" PRIu64, t, i, nodes.node[i].free_bytes / huge_bytes);
    }
    struct hm_nodes one = make_nodes();
    one.node[0].n_cpus = 4;
    assert_false(hm_nodes_matter(&one));
}

static void a_process_runs_where_any_of_its_threads_may(void **state)
{
    (void)state;
    struct hm_set cpus;
    cpu_set_t own;
    assert_int_equal(sched_getaffinity(0, sizeof(own), &own), 0);
    hm_cpus_of(getpid(), &cpus);
    assert_int_equal(hm_set_count(&cpus), CPU_COUNT(&own));
    hm_cpus_of(INT_MAX, &cpus);
    assert_true(hm_set_is_empty(&cpus));
}

static const struct {
    uint64_t low, high, most, expected, cache, kept;
} kept_rows[] = {
    {10, 20, 100, 0, 0, 20},           /* a quiet step: the high watermark */
    {10, 20, 100, 5, 0, 20},           /* 15, but at least that */
    {10, 20, 100, 50, 0, 60},          /* above the low watermark, where the step's pages would go elsewhere */
    {10, 20, 100, 90, 0, 100},         /* all of the reserve */
    {10, 20, 100, 91, 0, 100},         /* no more than it */
    {10, 20, 100, UINT64_MAX, 0, 100}, /* no sum overflows */
    {10, 20, 15, 0, 0, 15},            /* a reserve below the high watermark */
    {10, 20, 5, 0, 0, 10},             /* below the low one: that stays free all the same */
    {10, 20, 5, UINT64_MAX, 0, 10},    /* the same */
    {10, 20, 100, 0, 4, 16},           /* files make up for what is missing to the high watermark */
    {10, 20, 100, 0, 400, 10},         /* but not below the low one */
    {10, 20, 100, 5, 400, 15},         /* nor for what the step may allocate */
    {0, 0, 100, 0, 0, 0},              /* nothing is free */
    {UINT64_MAX, UINT64_MAX, 1, 9, 0, UINT64_MAX},
};

static void what_is_kept_follows_what_is_expected(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(kept_rows); i++) {
        const struct hm_watermarks marks = {kept_rows[i].low, kept_rows[i].high};
        if (hm_nodes_kept(&marks, kept_rows[i].most, kept_rows[i].expected, kept_rows[i].cache) != kept_rows[i].kept)
            fail_msg("row %zu", i);
    }
}

static void only_for_what_is_expected_room_is_short(void **state)
{
    (void)state;
    struct hm_nodes nodes = make_nodes();
    assert_int_equal(hm_nodes_fast_kept(&nodes), 120 * KIB);
    nodes.node[0].expected_bytes = 30 * KIB;
    assert_int_equal(hm_nodes_fast_short(&nodes), 0);
    nodes.node[0].free_bytes = 50 * KIB;
    assert_int_equal(hm_nodes_fast_short(&nodes), 10 * KIB);
    nodes.node[0].free_bytes = 0; /* others have taken the rest */
    assert_int_equal(hm_nodes_fast_short(&nodes), 30 * KIB);
    nodes.node[1].free_bytes = nodes.node[2].free_bytes = 0; /* a fast node where nothing is expected, and a slow one */
    nodes.node[2].expected_bytes = 30 * KIB;
    assert_int_equal(hm_nodes_fast_short(&nodes), 30 * KIB);
    hm_nodes_close(&nodes, 0);
    assert_int_equal(hm_nodes_fast_short(&nodes), 0);
}

static void the_reserve_is_kept_where_nothing_is_known(void **state)
{
    (void)state;
    struct hm_nodes nodes = make_nodes();
    for (int i = 0; i < 3; i++)
        nodes.node[i].most_kept_bytes = 70 * KIB;
    nodes.node[1].expected_bytes = 5 * KIB;
    hm_nodes_keep(&nodes, UINT64_MAX);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(nodes.node[i].kept_bytes, i < 2 ? 70 * KIB : 60 * KIB);
        assert_int_equal(nodes.node[i].expected_bytes, 0);
    }
    nodes.marks_left = 1;
    for (int i = 0; i < 2; i++)
        nodes.node[i].total_bytes = 0; /* without memory there is nothing to divide */
    hm_nodes_keep(&nodes, 30 * KIB);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nodes.node[i].kept_bytes, 70 * KIB);
        assert_int_equal(nodes.node[i].expected_bytes, 0);
    }
}

/* Lines as Linux 6.12 writes them, without those that do not matter. 1000 pages protected, and one zone of little use.
 */
static const char *const zone_lines[] = {
    "Node 0, zone      DMA",
    "  per-node stats",
    "      nr_inactive_anon 4711",
    "  pages free     3000",
    "        boost    0",
    "        min      10",
    "        low      20",
    "        high     30",
    "        promo    40",
    "        spanned  4095",
    "        protection: (0, 1000, 1000, 3500)",
    "      nr_free_pages 99",
    "              high:  77",
    "Node 0, zone   Normal",
    "  pages free     9000",
    "        low      200",
    "        high     300",
    "        protection: (0, 0, 0, 0)",
    "Node 1, zone   Device",
    "  pages free     0",
    "        low      0",
    "        high     0",
    "        protection: (0)",
};

static void watermarks_are_of_what_is_free(void **state)
{
    (void)state;
    struct hm_zone zone = {.node = -1};
    struct hm_watermarks marks[2] = {{0}};
    assert_false(hm_zone_take(&zone, "        protection: (0, 1)")); /* in no zone */
    for (size_t i = 0; i < N_ROWS(zone_lines); i++)
        if (hm_zone_take(&zone, zone_lines[i]))
            hm_zone_add(&zone, &marks[zone.node]);
    assert_int_equal(marks[0].low_bytes / hm_page_size(), 3000 + 200);
    assert_int_equal(marks[0].high_bytes / hm_page_size(), 3000 + 300);
    assert_int_equal(marks[1].high_bytes, 0);
}

/* /proc/zoneinfo: a fast node and a slow one, each with a zone for users and one without memory, and how often it was
 * read. In pages. */
static unsigned n_read, free_fast, free_slow;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    static char text[400];
    if (strcmp(path, "/proc/zoneinfo") != 0)
        return __real_fopen(path, mode);
    n_read++;
    int length = snprintf(text, sizeof(text),
                          "Node 0, zone Normal\n  pages free %u\n low 20\n high 30\n protection: (0, 0)\n"
                          "Node 0, zone Movable\n  pages free 0\n low 32\n high 32\n protection: (0, 0)\n"
                          "Node 2, zone Normal\n  pages free %u\n low 20\n high 30\n protection: (0, 0)\n",
                          free_fast, free_slow);
    return fmemopen(text, (size_t)length, "r");
}

/* What a full node keeps grows as soon as memory is freed there. */
static void watermarks_are_read_seldom_unless_a_fast_node_is_short(void **state)
{
    (void)state;
    static const struct {
        unsigned free_fast, free_slow, n_read, kept;
    } looks[] = {
        {25, 5, 1, 25},
        {9000, 5, 2, 30}, /* after the first look the node was short; now it is not */
        {9000, 9000, 2, 30},
        {25, 9000, 2, 30}, /* it is known how much is kept */
    };
    struct hm_nodes nodes = make_nodes();
    nodes.node[0].most_kept_bytes = nodes.node[0].total_bytes = 100 * hm_page_size();
    nodes.node[1].tier = 1;
    n_read = 0;
    for (size_t i = 0; i < N_ROWS(looks); i++) {
        free_fast = looks[i].free_fast;
        free_slow = looks[i].free_slow;
        hm_nodes_keep(&nodes, 0);
        assert_int_equal(n_read, looks[i].n_read);
        assert_int_equal(nodes.node[0].kept_bytes, looks[i].kept * hm_page_size());
    }
    free_fast = 9000;
    for (int i = 0; i < 100; i++)
        hm_nodes_keep(&nodes, 0);
    assert_int_equal(n_read, 2 + 3); /* once in 32 times, not counting the first look */
}

/* After a node was full, its file cache does not count as room for a while. Runs on this machine's node 0. */
static void files_that_are_not_given_away_are_no_room(void **state)
{
    (void)state;
    struct hm_nodes nodes = make_nodes();
    nodes.n = 1;
    hm_nodes_refresh(&nodes);
    assert_true(nodes.node[0].free_bytes > nodes.node[0].file_bytes);
    nodes.node[0].file_bytes = 0;
    hm_nodes_fill(&nodes, 0); /* without file cache, the next refresh counts as usual */
    assert_int_equal(nodes.node[0].without_files, 0);
    nodes.node[0].file_bytes = 5 * KIB;
    hm_nodes_fill(&nodes, 0);
    assert_int_equal(nodes.node[0].free_bytes, 0);
    for (unsigned left = nodes.node[0].without_files; left > 0; left--) {
        hm_nodes_refresh(&nodes);
        assert_int_equal(nodes.node[0].file_bytes, 0);
        assert_int_equal(nodes.node[0].without_files, left - 1);
    }
    assert_true(nodes.node[0].free_bytes > 0);
}

/* A node that is refused is tried again, ever later while it is refused again. Runs on this machine's node 0. */
static void a_refused_node_opens_again(void **state)
{
    (void)state;
    struct hm_nodes nodes = make_nodes();
    nodes.n = 1;
    for (unsigned i = 0, pause = 1; i < 12; i++, pause = pause < HM_NODES_PAUSE ? 2 * pause : pause) {
        hm_nodes_close(&nodes, 0);
        for (unsigned k = 0; k < pause; k++) {
            assert_int_equal(hm_nodes_room(&nodes, 0), 0);
            hm_nodes_refresh(&nodes);
        }
        assert_true(hm_nodes_room(&nodes, 0) > 0);
    }
    hm_nodes_admit(&nodes, 0);
    hm_nodes_close(&nodes, 0);
    hm_nodes_refresh(&nodes);
    assert_true(hm_nodes_room(&nodes, 0) > 0);
}

/* Only in the middle, where pages come and go. Runs on this machine's node 0. */
static void a_full_node_in_the_middle_keeps_what_is_free(void **state)
{
    (void)state;
    for (unsigned tier = 0; tier < 3; tier++) {
        struct hm_nodes nodes = make_nodes();
        nodes.n = 1;
        nodes.n_tiers = 3;
        nodes.node[0].tier = tier;
        nodes.node[0].kept_bytes = nodes.node[0].most_kept_bytes = UINT64_MAX;
        hm_nodes_refresh(&nodes);
        assert_true(nodes.node[0].kept_bytes == (tier == 1 ? nodes.node[0].free_bytes : UINT64_MAX));
    }
}

static void write_figure(const char *folder, const char *name, const char *text)
{
    char *path =
        scratch_path("%s/hugepages/hugepages-%" PRIu64 "kB/%s", folder, hm_huge_pages() * hm_page_size() / KIB, name);
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        mkdir(path, 0700); /* or it is there */
        *slash = '/';
    }
    scratch_write(path, text);
}

/* What others have reserved of the pool of huge pages is left to them. Node 1 is the only fast one, 2 a slow one. */
static void reserved_huge_pages_are_not_taken(void **state)
{
    (void)state;
    static const struct {
        const char *reserved, *free_fast;
        bool may_take;
    } pools[] = {{"0\n", "7\n", true}, {"3\n", "7\n", false}, {"3\n", "0\n", true}, {"3\n", "?\n", false}};
    struct hm_nodes nodes = {.n = 2, .node = {{.id = 1}, {.id = 2, .tier = 1}}};
    assert_false(hm_pool_may_take(scratch, &nodes, 0)); /* nothing is known */
    write_figure("devices/system/node/node2", "free_hugepages", "9\n");
    for (size_t i = 0; i < N_ROWS(pools); i++) {
        write_figure("kernel/mm", "resv_hugepages", pools[i].reserved);
        write_figure("devices/system/node/node1", "free_hugepages", pools[i].free_fast);
        if (hm_pool_may_take(scratch, &nodes, 0) != pools[i].may_take)
            fail_msg("row %zu", i);
    }
    assert_false(hm_pool_may_take(scratch, &nodes, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_the_cache_is_room),
        cmocka_unit_test(the_nearest_node_with_room_above_what_it_keeps_is_taken),
        cmocka_unit_test(pages_go_near_to_the_process),
        cmocka_unit_test(a_process_runs_where_any_of_its_threads_may),
        cmocka_unit_test(what_is_kept_follows_what_is_expected),
        cmocka_unit_test(only_for_what_is_expected_room_is_short),
        cmocka_unit_test(the_reserve_is_kept_where_nothing_is_known),
        cmocka_unit_test(a_refused_node_opens_again),
        cmocka_unit_test(a_full_node_in_the_middle_keeps_what_is_free),
        cmocka_unit_test(watermarks_are_of_what_is_free),
        cmocka_unit_test(watermarks_are_read_seldom_unless_a_fast_node_is_short),
        cmocka_unit_test(files_that_are_not_given_away_are_no_room),
        cmocka_unit_test(reserved_huge_pages_are_not_taken),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
