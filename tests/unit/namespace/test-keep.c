/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the rules for what users keep: the share of all users, the quota of each, and for how long. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "namespace/pmem/keep.h"
#include "unit/lib/rows.h"

#define MIB (UINT64_C(1) << 20)
#define REGION(number, on, mib)                                                                                        \
    {                                                                                                                  \
        .name = "region" #number, .socket = (on), .size = 1280 * MIB, .free = (mib)*MIB, .extent = (mib)*MIB,          \
        .align = 16 * MIB, .has_labels = true, .is_enabled = true                                                      \
    }
#define KEEPS(id, number, mib)                                                                                         \
    {                                                                                                                  \
        .owner = {.cluster = "c", .kind = HM_OWNER_USER, .uid = (id)}, .region = "region" #number, .bytes = (mib)*MIB  \
    }
/* A job's own namespace counts against no user. */
#define OF_JOB                                                                                                         \
    {                                                                                                                  \
        .owner = {.cluster = "c", .job_id = 1001}, .region = "region0", .bytes = 640 * MIB                             \
    }

/* User 1001 asks; fsdax_keep_share is 10 %, which is 128 MiB of each region. Region 2 is on socket 0, too. */
static const struct {
    const char *sockets;
    uint64_t mib, quota_mib;
    struct hm_namespace owned[3];
    int n;          /* expected number of namespaces to be made, or -1 */
    const char *on; /* region of the first of them */
    const char *said;
} rows[] = {
    {"0", 128, 0, {OF_JOB}, 1, "region0", NULL},
    {"0-1", 256, 256, {OF_JOB}, 2, "region0", NULL},
    {"0", 128, 0, {KEEPS(1002, 0, 16)}, 1, "region2", NULL},
    {"0", 112, 0, {KEEPS(1002, 0, 16), KEEPS(1002, 2, 16)}, 1, "region0", NULL},
    {"0",
     144,
     0,
     {OF_JOB},
     -1,
     NULL,
     "144.0 MiB cannot be kept in region0 on socket 0: all users together may keep 128.0 MiB of it "
     "(fsdax_keep_share), and keep 0 B"},
    {"0",
     128,
     0,
     {KEEPS(1002, 0, 16), KEEPS(1003, 2, 16), KEEPS(1004, 1, 16)},
     -1,
     NULL,
     "128.0 MiB cannot be kept in region0 on socket 0: all users together may keep 128.0 MiB of it "
     "(fsdax_keep_share), and keep 16.0 MiB"},
    {"0-1",
     64,
     0,
     {KEEPS(1002, 1, 64), KEEPS(1003, 1, 64)},
     -1,
     NULL,
     "32.0 MiB cannot be kept in region1 on socket 1: all users together may keep 128.0 MiB of it "
     "(fsdax_keep_share), and keep 128.0 MiB"},
    {"0",
     128,
     64,
     {OF_JOB},
     -1,
     NULL,
     "user 1001 may keep 64.0 MiB on this node (fsdax_keep_quota) and keeps 0 B: 128.0 MiB more, rounded up to the "
     "regions' alignment, would be too much"},
    /* sizes are rounded up to the regions' alignment; what the user keeps elsewhere counts, too */
    {"0-1",
     33,
     33,
     {OF_JOB},
     -1,
     NULL,
     "user 1001 may keep 33.0 MiB on this node (fsdax_keep_quota) and keeps 0 B: 64.0 MiB more, rounded up to the "
     "regions' alignment, would be too much"},
    {"0",
     32,
     64,
     {KEEPS(1001, 1, 48), KEEPS(1002, 1, 48)},
     -1,
     NULL,
     "user 1001 may keep 64.0 MiB on this node (fsdax_keep_quota) and keeps 48.0 MiB: 32.0 MiB more, rounded up to the "
     "regions' alignment, would be too much"},
    {"0",
     32,
     64,
     {KEEPS(1001, 1, 96)},
     -1,
     NULL,
     "user 1001 may keep 64.0 MiB on this node (fsdax_keep_quota) and keeps 96.0 MiB: 32.0 MiB more, rounded up to the "
     "regions' alignment, would be too much"},
    /* impossible requests */
    {"0",
     1024,
     0,
     {OF_JOB},
     -1,
     NULL,
     "region0 on socket 0 has no extent of 1.0 GiB: the largest is 640.0 MiB, of 640.0 MiB free in all"},
    {"5", 32, 0, {OF_JOB}, -1, NULL, "socket 5 has no persistent memory region"},
};

static void test_share_and_quota(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_region region[] = {REGION(0, 0, 640), REGION(1, 1, 640), REGION(2, 0, 640)};
        struct hm_config config;
        struct hm_share share[HM_MAX_SOCKETS];
        struct hm_error error = {{0}};
        struct hm_set sockets;
        const struct hm_owned owned = {rows[i].owned, N_ROWS(rows[i].owned)};
        hm_config_defaults(&config);
        config.keep_percent = 10;
        config.keep_quota_bytes = rows[i].quota_mib * MIB;
        assert_int_equal(hm_set_parse(&sockets, rows[i].sockets, &error), 0);
        int n = hm_keep_plan(&config, region, N_ROWS(region), &owned, 1001, &sockets, rows[i].mib * MIB, share, &error);
        if (rows[i].said)
            assert_string_equal(error.text, rows[i].said);
        assert_int_equal(n, rows[i].n);
        if (n > 0)
            assert_string_equal(share[0].region->name, rows[i].on);
    }
}

static void test_the_offer(void **state)
{
    (void)state;
    struct hm_config config;
    hm_config_defaults(&config);
    assert_int_equal(hm_keep_check_offer(&config, NULL), -1);
    assert_int_equal(errno, ENOTSUP);
    config.keep_percent = 0.5;
    assert_int_equal(hm_keep_check_offer(&config, NULL), 0);
}

static void test_until_when(void **state)
{
    (void)state;
    struct hm_config config;
    char text[HM_MOMENT];
    const struct hm_owner owner = {.kind = HM_OWNER_USER, .minute = 29400000}; /* 2025-11-24T16:00:00Z */
    hm_config_defaults(&config);
    assert_string_equal(hm_keep_until(&config, &owner, text), ""); /* without hybridmem.conf the age is unknown */
    assert_false(hm_keep_is_over(&config, &owner, INT64_MAX));
    snprintf(config.path, sizeof(config.path), "/etc/hybridmem.conf");
    assert_string_equal(hm_keep_until(&config, &owner, text), "2025-12-01T16:00:00Z");
    assert_false(hm_keep_is_over(&config, &owner, 1764604799));
    assert_true(hm_keep_is_over(&config, &owner, 1764604800));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share_and_quota),
        cmocka_unit_test(test_the_offer),
        cmocka_unit_test(test_until_when),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
