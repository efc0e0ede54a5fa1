/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the label of a namespace, and lists of living jobs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "namespace/pmem/owner.h"
#include "unit/lib/rows.h"

static struct hm_error error;

static void test_a_label_is_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *cluster;
        struct hm_owner owner;
        const char *name;
    } rows[] = {
        {"testbed", {.job_id = 12, .restart = 0, .socket = 1}, "hybridmem:testbed:12.0.1"},
        {NULL, {.job_id = 1}, "hybridmem:-:1.0.0"},
        {"", {.job_id = 1}, "hybridmem:-:1.0.0"},
        {"a:b c\n", {.job_id = 1}, "hybridmem:a_b_c_:1.0.0"},
        {"a cluster with a name beyond all reason and measure",
         {.job_id = UINT32_MAX, .restart = UINT32_MAX, .socket = 31},
         "hybridmem:a_cluster_with_a_name_beyond:4294967295.4294967295.31"},
        {"testbed", {.kind = HM_OWNER_USER, .uid = 1001, .minute = 29912345}, "hybridmem:testbed:u1001.29912345.0"},
        {NULL, {.kind = HM_OWNER_USER, .socket = 7}, "hybridmem:-:u0.0.7"},
        {"u1", {.kind = HM_OWNER_USER, .uid = 1}, "hybridmem:u1:u1.0.0"},
        {"a cluster with a name beyond all reason and measure",
         {.kind = HM_OWNER_USER, .uid = UINT32_MAX, .minute = HM_OWNER_MINUTES, .socket = 31},
         "hybridmem:a_cluster_with_a_name_beyond:u4294967295.999999999.31"},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_owner owner = rows[i].owner, back;
        char name[HM_OWNER_NAME];
        uuid_t uuid;
        hm_owner_set_cluster(&owner, rows[i].cluster);
        hm_owner_write(&owner, name, uuid);
        assert_string_equal(name, rows[i].name);
        assert_int_equal(uuid_type(uuid), UUID_TYPE_DCE_SHA1);
        assert_int_equal(hm_owner_read(name, uuid, &back), 0);
        assert_memory_equal(&back, &owner, sizeof(owner));
        assert_int_equal(hm_owner_is_of_job(&back, rows[i].cluster, owner.job_id, owner.restart),
                         owner.kind == HM_OWNER_JOB);
        assert_int_equal(hm_owner_is_of_user(&back, rows[i].cluster, owner.uid), owner.kind == HM_OWNER_USER);
        assert_true(hm_owner_is_equal(&back, &owner));
        back.socket ^= 1;
        assert_false(hm_owner_is_equal(&back, &owner));
    }
}

/* The uuid must never change, as nodes have namespaces of older versions. */
static void test_the_uuid_never_changes(void **state)
{
    (void)state;
    struct hm_owner owner = {.cluster = "testbed", .job_id = 12, .socket = 1};
    char name[HM_OWNER_NAME], text[37];
    uuid_t uuid;
    hm_owner_write(&owner, name, uuid);
    uuid_unparse_lower(uuid, text);
    assert_string_equal(text, "52ea1e45-a19f-501b-a5b5-57a34dd3a515");
    owner = (struct hm_owner){.cluster = "testbed", .kind = HM_OWNER_USER, .uid = 1001, .minute = 29912345};
    hm_owner_write(&owner, name, uuid);
    uuid_unparse_lower(uuid, text);
    assert_string_equal(text, "f840adc7-20e9-5bc9-853d-e1f34b91b65f");
}

static const char *const foreign[] = {
    "",
    "foreign",
    "hybridmem",
    "hybridmem:",
    "hybridmem:testbed",
    "hybridmem:testbed:",
    "hybridmem::1.0.0",
    "hybridmem:testbed:1.0",
    "hybridmem:testbed:1.0.",
    "hybridmem:testbed:01.0.0",
    "hybridmem:testbed:+1.0.0",
    "hybridmem:testbed: 1.0.0",
    "hybridmem:testbed:1.0.0 ",
    "hybridmem:testbed:1.0.0.0",
    "hybridmem:testbed:1.0.32",
    "hybridmem:testbed:-1.0.0",
    "hybridmem:testbed:4294967296.0.0",
    "hybridmem:test:bed:1.0.0",
    "hybridmem:a_cluster_with_a_name_beyond_all:1.0.0",
    "Hybridmem:testbed:1.0.0",
    "hybridmem:testbed:u",
    "hybridmem:testbed:u1",
    "hybridmem:testbed:u1.0",
    "hybridmem:testbed:u1.0.",
    "hybridmem:testbed:u1.0.0.0",
    "hybridmem:testbed:u01.0.0",
    "hybridmem:testbed:u1.00.0",
    "hybridmem:testbed:u+1.0.0",
    "hybridmem:testbed:u 1.0.0",
    "hybridmem:testbed:u-1.0.0",
    "hybridmem:testbed:uu1.0.0",
    "hybridmem:testbed:U1.0.0",
    "hybridmem:testbed:1u.0.0",
    "hybridmem:testbed:u1.0.32",
    "hybridmem:testbed:u1.1000000000.0",
    "hybridmem:testbed:u4294967296.0.0",
    "hybridmem:testbed:u1.0.0 ",
    "hybridmem::u1.0.0",
};

static void test_what_is_not_ours(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_ROWS(foreign); i++) {
        struct hm_owner owner;
        static const uuid_t ours = {0x8d, 0x2a, 0x6b, 0x5e, 0x41, 0xc3, 0x4f, 0x0a,
                                    0x9b, 0x17, 0xd0, 0x6e, 0x3c, 0x58, 0x72, 0xf4};
        uuid_t uuid;
        /* Refused even with the uuid that belongs to the name. */
        uuid_generate_sha1(uuid, ours, foreign[i], strlen(foreign[i]));
        if (hm_owner_read(foreign[i], uuid, &owner) == 0)
            fail_msg("\"%s\" counts as ours", foreign[i]);
    }
}

static void test_our_name_under_another_uuid_is_not_ours(void **state)
{
    (void)state;
    struct hm_owner owner = {.cluster = "testbed", .job_id = 12};
    char name[HM_OWNER_NAME];
    uuid_t uuid, other;
    hm_owner_write(&owner, name, uuid);
    uuid_generate(other);
    assert_int_equal(hm_owner_read(name, other, &owner), -1);
    name[strlen(name) - 1] = '1';
    assert_int_equal(hm_owner_read(name, uuid, &owner), -1);
    uuid_clear(other);
    assert_int_equal(hm_owner_read(name, other, &owner), -1);
}

static void test_clusters_and_jobs_are_told_apart(void **state)
{
    (void)state;
    const struct hm_owner owner = {.cluster = "one", .job_id = 12, .restart = 3, .socket = 1};
    assert_true(hm_owner_is_of_cluster(&owner, NULL));
    assert_true(hm_owner_is_of_cluster(&owner, "one"));
    assert_false(hm_owner_is_of_cluster(&owner, "two"));
    assert_true(hm_owner_is_of_job(&owner, NULL, 12, 3));
    assert_false(hm_owner_is_of_job(&owner, NULL, 12, 0));
    assert_false(hm_owner_is_of_job(&owner, NULL, 1, 3));
    assert_false(hm_owner_is_of_job(&owner, "two", 12, 3));
    const struct hm_owner user = {.cluster = "one", .kind = HM_OWNER_USER, .uid = 12, .minute = 3};
    assert_true(hm_owner_is_of_user(&user, NULL, 12));
    assert_true(hm_owner_is_of_user(&user, "one", 12));
    assert_false(hm_owner_is_of_user(&user, "two", 12));
    assert_false(hm_owner_is_of_user(&user, "one", 13));
    /* A user and a job with the same numbers are different. */
    assert_false(hm_owner_is_of_job(&user, "one", 12, 3));
    assert_false(hm_owner_is_of_job(&user, "one", 0, 0));
    assert_false(hm_owner_is_of_user(&owner, "one", 12));
    assert_false(hm_owner_is_of_user(&owner, "one", 0));
    assert_int_equal(hm_owner_until(&user, 600), 3 * 60 + 600);
}

static const struct {
    const char *list;
    int result; /* result of hm_living_check */
    bool has;   /* whether the list has job 12.3 */
    bool keeps; /* whether the list has user 12 */
} lists[] = {
    {"", 0, false, false},
    {" \n,\t", 0, false, false},
    {"u12", 0, false, true},
    {"1.0,u12\n", 0, false, true},
    {"u1,u12,12.3", 0, true, true},
    {"u0 u112 u121", 0, false, false},
    {"u4294967294", 0, false, false},
    {"u*", 0, false, true},
    {"1.*,u1", 0, false, false},
    {"1.0,12.*", 0, true, false},
    {"13.*,u*,12.3", 0, true, true},
    {"*", -1, false, false},
    {"*.3", -1, false, false},
    {"*.*", -1, false, false},
    {"12.**", -1, false, false},
    {"12.*3", -1, false, false},
    {"12*", -1, false, false},
    {"0.*", -1, false, false},
    {"u**", -1, false, false},
    {"u1*", -1, false, false},
    {"u*.*", -1, false, false},
    {"u", -1, false, false},
    {"u12.3", -1, false, false},
    {"u4294967295", -1, false, false},
    {"12.3u", -1, false, false},
    {"uu12", -1, false, false},
    {"U12", -1, false, false},
    {"12.3", 0, true, false},
    {"1.0,12.3\n", 0, true, false},
    {"1.0 12.3 13.0", 0, true, false},
    {"112.3,12.33,12.0,2.3", 0, false, false},
    {"4294967295.4294967295", 0, false, false},
    {"12", -1, false, false},
    {"12.", -1, false, false},
    {".3", -1, false, false},
    {"0.3", -1, false, false},
    {"12.3.0", -1, false, false},
    {"12.3;13.0", -1, false, false},
    {"12.x", -1, false, false},
    {"4294967296.0", -1, false, false},
    {"12.00000000000000000000000000000", -1, false, false},
};

static void test_lists_of_the_living(void **state)
{
    const struct hm_owner owner = {.cluster = "-", .job_id = 12, .restart = 3};
    const struct hm_owner user = {.cluster = "-", .kind = HM_OWNER_USER, .uid = 12, .minute = 3};
    (void)state;
    for (size_t i = 0; i < N_ROWS(lists); i++) {
        if (hm_living_check(lists[i].list, &error) != lists[i].result)
            fail_msg("\"%s\" is checked wrongly", lists[i].list);
        if (lists[i].result == 0)
            assert_int_equal(hm_living_has(lists[i].list, &owner), lists[i].has);
        if (lists[i].result == 0)
            assert_int_equal(hm_living_has(lists[i].list, &user), lists[i].keeps);
    }
    assert_int_equal(hm_living_check("1.0,x", &error), -1);
    assert_string_equal(error.text,
                        "\"x\" is neither JOB.RESTART, as \"1234.0\" or \"1234.*\", nor u and a uid, as \"u1000\" or "
                        "\"u*\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_label_is_read_back),
        cmocka_unit_test(test_the_uuid_never_changes),
        cmocka_unit_test(test_what_is_not_ours),
        cmocka_unit_test(test_our_name_under_another_uuid_is_not_ours),
        cmocka_unit_test(test_clusters_and_jobs_are_told_apart),
        cmocka_unit_test(test_lists_of_the_living),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
