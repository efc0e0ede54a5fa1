/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the size of a job's file systems is split over the regions of persistent memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "namespace/pmem/share.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)

static struct hm_error error;
static struct hm_share share[HM_MAX_SOCKETS];

static struct hm_region region(int number, int socket, uint64_t free_mib, uint64_t extent_mib)
{
    struct hm_region made = {.name = "region0",
                             .socket = socket,
                             .size = 1280 * MIB,
                             .free = free_mib * MIB,
                             .extent = extent_mib * MIB,
                             .align = 16 * MIB,
                             .has_labels = true,
                             .is_enabled = true};
    made.name[6] = (char)('0' + number);
    return made;
}

static int plan(const struct hm_region *regions, int n, const char *sockets, uint64_t bytes)
{
    struct hm_set set;
    assert_int_equal(hm_set_parse(&set, sockets, &error), 0);
    error.text[0] = '\0';
    return hm_share_plan(regions, n, &set, bytes, share, &error);
}

static void test_a_size_is_split_and_rounded_up(void **state)
{
    (void)state;
    const struct hm_region regions[] = {region(0, 0, 1264, 1264), region(1, 1, 1264, 1264)};
    static const struct {
        const char *sockets;
        uint64_t bytes, each_mib;
    } rows[] = {
        {"0", 64 * MIB, 64},
        {"0", 64 * MIB + 1, 80},
        {"0", 1, 16},
        {"0,1", 64 * MIB, 32},
        {"0,1", 1, 16},
        {"0-1", 32 * MIB + 1, 32},
        {"1", 1264 * MIB, 1264},
        {"0,1", 2528 * MIB, 1264},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        int n = plan(regions, 2, rows[i].sockets, rows[i].bytes);
        assert_int_equal(n, strlen(rows[i].sockets) > 1 ? 2 : 1);
        for (int j = 0; j < n; j++) {
            assert_int_equal(share[j].bytes, rows[i].each_mib * MIB);
            assert_int_equal(share[j].region->socket, n == 2 ? j : rows[i].sockets[0] - '0');
        }
    }
}

static void test_sockets_by_a_word(void **state)
{
    (void)state;
    const struct hm_region regions[] = {region(0, 0, 1264, 1264), region(1, 1, 1264, 1264), region(2, -1, 1264, 1264)};
    static const struct {
        enum hm_socket which;
        const char *local;
        int n_regions;
        const char *sockets; /* NULL: refused */
        const char *said;
    } rows[] = {
        {HM_SOCKET_ALL, "0", 3, "0-1", NULL},
        {HM_SOCKET_ALL, "1", 1, "0", NULL},
        {HM_SOCKET_LOCAL, "1", 3, "1", NULL},
        {HM_SOCKET_LOCAL, "0-1", 3, "0-1", NULL},
        {HM_SOCKET_REMOTE, "1", 3, "0", NULL},
        {HM_SOCKET_LOCAL, "1", 1, NULL, "this process's CPUs are on socket 1: no persistent memory region is there"},
        {HM_SOCKET_REMOTE, "0", 1, NULL,
         "this process's CPUs are on socket 0: no persistent memory region is elsewhere"},
        {HM_SOCKET_ALL, "0", 0, NULL, "this node has no persistent memory region on a known socket"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_set local, sockets, wanted;
        assert_int_equal(hm_set_parse(&local, rows[i].local, &error), 0);
        int result = hm_share_sockets(rows[i].which, regions, rows[i].n_regions, &local, &sockets, &error);
        assert_int_equal(result, rows[i].sockets ? 0 : -1);
        if (rows[i].said)
            assert_string_equal(error.text, rows[i].said);
        else
            assert_true(hm_set_parse(&wanted, rows[i].sockets, &error) == 0 && hm_set_equal(&wanted, &sockets));
    }
}

static void test_the_tightest_gap_is_taken(void **state)
{
    (void)state;
    const struct hm_region regions[] = {region(0, 0, 900, 800), region(1, 0, 400, 256), region(2, 0, 512, 512),
                                        region(3, 1, 64, 64)};
    assert_int_equal(plan(regions, 4, "0", 256 * MIB), 1);
    assert_string_equal(share[0].region->name, "region1");
    assert_int_equal(plan(regions, 4, "0", 257 * MIB), 1);
    assert_string_equal(share[0].region->name, "region2");
    assert_int_equal(plan(regions, 4, "0", 600 * MIB), 1);
    assert_string_equal(share[0].region->name, "region0");
}

static void test_what_cannot_be_is_named(void **state)
{
    (void)state;
    struct hm_region regions[] = {region(0, 0, 512, 384), region(1, 1, 0, 0),   region(2, 2, 64, 64),
                                  region(3, 3, 64, 64),   region(4, 4, 64, 64), region(5, 5, 64, 64),
                                  region(6, 6, 64, 64)};
    regions[2].has_labels = false;
    regions[3].align = 4096;
    regions[4].start = 4096;
    regions[5].is_enabled = false;
    regions[6].is_read_only = true;
    static const struct {
        const char *sockets;
        uint64_t bytes;
        const char *said;
    } rows[] = {
        {"", MIB, "no socket is named"},
        {"0", 0, "the size is 0: it must be more"},
        {"0", 385 * MIB,
         "region0 on socket 0 has no extent of 400.0 MiB: the largest is 384.0 MiB, of 512.0 MiB free in all"},
        {"0", UINT64_MAX,
         "region0 on socket 0 has no extent of 16.0 EiB: the largest is 384.0 MiB, of 512.0 MiB "
         "free in all"},
        {"0,1", 32 * MIB, "region1 on socket 1 has no extent of 16.0 MiB: the largest is 0 B, of 0 B free in all"},
        {"2", MIB, "region2 has no labels and cannot be divided: 'hybridmem namespace provision' says what to do"},
        {"3", MIB, "region3 is aligned to 4096 bytes: DAX wants a multiple of 2097152 in its sysfs align"},
        {"4", MIB, "region4 starts at 0x1000: DAX wants a multiple of 0x200000"},
        {"5", MIB, "region5 is disabled: ndctl enable-region region5"},
        {"6", MIB, "region6 is read-only: its firmware or an administrator has made it so"},
        {"7", MIB, "socket 7 has no persistent memory region"},
        {"32", MIB, "socket 32 is too high: hybridmem is built for sockets 0 to 31"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        assert_int_equal(plan(regions, 7, rows[i].sockets, rows[i].bytes), -1);
        assert_string_equal(error.text, rows[i].said);
    }
    assert_int_equal(plan(regions, 0, "0", MIB), -1);
    assert_string_equal(error.text, "this node has no persistent memory region (is the kernel module nfit loaded?)");
}

/* An unusable region does not matter where another one is usable. */
static void test_another_region_of_the_socket_serves(void **state)
{
    (void)state;
    struct hm_region regions[] = {region(0, 0, 512, 512), region(1, 0, 512, 512)};
    regions[0].has_labels = false;
    assert_int_equal(plan(regions, 2, "0", MIB), 1);
    assert_string_equal(share[0].region->name, "region1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_size_is_split_and_rounded_up),      cmocka_unit_test(test_sockets_by_a_word),
        cmocka_unit_test(test_the_tightest_gap_is_taken),           cmocka_unit_test(test_what_cannot_be_is_named),
        cmocka_unit_test(test_another_region_of_the_socket_serves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
