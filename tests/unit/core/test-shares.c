/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the fast tier is split among the jobs that share it, and the table of these jobs. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/share/shares.h"
#include "core/share/split.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define ALL UINT64_MAX
#define SHARERS 4

static void test_split(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        size_t n;
        struct hm_sharer sharers[SHARERS];
        uint64_t parts[SHARERS]; /* of 1000 bytes */
    } rows[] = {
        {"one has all", 1, {{1, ALL}}, {1000}},
        {"equal", 4, {{1, ALL}, {1, ALL}, {1, ALL}, {1, ALL}}, {250, 250, 250, 250}},
        {"by weight", 2, {{3, ALL}, {1, ALL}}, {750, 250}},
        {"only the ratio of weights counts", 2, {{999, ALL}, {333, ALL}}, {750, 250}},
        {"just as much as it wants", 2, {{1, 500}, {1, ALL}}, {500, 500}},
        {"the rest of one is the other's", 2, {{1, 100}, {1, ALL}}, {100, 900}},
        {"the rest is split by weight", 3, {{2, 100}, {2, ALL}, {1, ALL}}, {100, 600, 300}},
        {"who is satisfied may be so only after others", 3, {{1, 50}, {1, 400}, {1, ALL}}, {50, 400, 550}},
        {"the order does not matter", 3, {{1, ALL}, {1, 400}, {1, 50}}, {550, 400, 50}},
        {"a small weight gets what a large one leaves", 2, {{1000, 1}, {1, ALL}}, {1, 999}},
        {"who wants nothing gets nothing", 2, {{1, 0}, {1, ALL}}, {0, 1000}},
        {"what nobody wants is open to each", 2, {{1, 100}, {3, 200}}, {800, 900}},
        {"nobody wants anything", 2, {{1, 0}, {1, 0}}, {1000, 1000}},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t parts[SHARERS] = {0};
        hm_share_split(rows[i].sharers, rows[i].n, 1000, parts);
        for (size_t k = 0; k < rows[i].n; k++)
            if (parts[k] != rows[i].parts[k])
                fail_msg("%s: part %zu is %llu", rows[i].what, k, (unsigned long long)parts[k]);
    }
    uint64_t parts[SHARERS];
    hm_share_split(rows[1].sharers, 2, 0, parts);
    assert_int_equal(parts[0], 0);
    hm_share_split(NULL, 0, 1000, NULL);
}

/* Whatever jobs want, the parts of those who do not get all have the ratio of their weights, nobody gets more than they
 * want, and nothing is lost but by rounding. */
static void test_a_split_is_fair(void **state)
{
    (void)state;
    const uint64_t bytes = UINT64_C(1) << 40;
    uint64_t random = 1;
    for (int round = 0; round < 2000; round++) {
        struct hm_sharer sharers[SHARERS];
        uint64_t parts[SHARERS], sum = 0, wanted = 0;
        double level = -1;
        for (int i = 0; i < SHARERS; i++) {
            random = random * 6364136223846793005 + 1442695040888963407;
            sharers[i] = (struct hm_sharer){1 + (random >> 33) % 1000, (random >> 20) % (bytes / 2)};
            wanted += sharers[i].wants_bytes;
        }
        hm_share_split(sharers, SHARERS, bytes, parts);
        for (int i = 0; i < SHARERS; i++) {
            sum += parts[i];
            if (wanted <= bytes || parts[i] == sharers[i].wants_bytes)
                continue;
            assert_true(parts[i] < sharers[i].wants_bytes);
            level = level < 0 ? (double)parts[i] / (double)sharers[i].weight : level;
            assert_float_equal((double)parts[i] / (double)sharers[i].weight, level, 8);
        }
        if (wanted > bytes)
            assert_in_range(sum, bytes - SHARERS, bytes);
    }
}

static struct hm_shares table(void)
{
    struct hm_shares shares = {0};
    assert_int_equal(hm_shares_join(&shares, 7, 3, HM_SHARES_NO_CAP, NULL), 0);
    assert_int_equal(hm_shares_join(&shares, 8, 1, HM_SHARES_NO_CAP, NULL), 0);
    return shares;
}

/* The tier has 1000 bytes; jobs 7 and 8 share it 3 to 1. What is left is used by others, or by the kernel. */
static void test_what_a_step_may_have(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        uint64_t used[2][2]; /* of jobs 7 and 8, as their monitors tell: fast, slow */
        uint64_t step[2], room;
        uint64_t caps[2]; /* 0: none */
        uint64_t share;   /* of a step of job 7 */
    } rows[] = {
        {"it has all, and has to give back", {{1000, 500}, {0, 500}}, {1000, 500}, 0, {0}, 750},
        {"it has its share", {{750, 750}, {250, 250}}, {750, 750}, 0, {0}, 750},
        {"it has hardly anything yet, and may have its share", {{10, 0}, {900, 100}}, {10, 0}, 90, {0}, 750},
        {"others have a half: only the rest is shared", {{300, 900}, {100, 400}}, {300, 900}, 100, {0}, 375},
        {"the other wants little", {{700, 800}, {50, 50}}, {700, 800}, 250, {0}, 900},
        {"the other has a cap", {{700, 800}, {100, 900}}, {700, 800}, 200, {0, 100}, 900},
        {"its own cap leaves the rest to the other, and what is left over is open",
         {{100, 900}, {0, 10}},
         {100, 900},
         900,
         {100, 0},
         990},
        {"monitors have not looked yet", {{ALL, ALL}, {ALL, ALL}}, {400, 600}, 600, {0}, 750},
        {"the other's use is not known: it is not shared", {{300, 700}, {ALL, ALL}}, {300, 700}, 100, {0}, 300},
        {"the step has more than the monitor saw", {{100, 100}, {0, 500}}, {600, 600}, 400, {0}, 750},
        {"another step of the job has a part", {{600, 900}, {250, 250}}, {400, 500}, 150, {0}, 550},
        {"each step gives back in proportion", {{1000, 900}, {0, 500}}, {500, 500}, 0, {0}, 375},
        {"no more than the tier has", {{900, 900}, {900, 900}}, {900, 900}, 500, {0}, 750},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_shares shares = {0};
        struct hm_shares_look look = {.job_id = 7,
                                      .used_bytes = {rows[i].step[0], rows[i].step[1]},
                                      .room_bytes = rows[i].room,
                                      .total_bytes = 1000};
        for (uint32_t k = 0; k < 2; k++) {
            uint64_t cap = rows[i].caps[k] ? rows[i].caps[k] : HM_SHARES_NO_CAP;
            assert_int_equal(hm_shares_join(&shares, 7 + k, k ? 1 : 3, cap, NULL), 0);
            hm_shares_note(&shares, 7 + k, rows[i].used[k][0], rows[i].used[k][1]);
        }
        uint64_t share = hm_shares_of_step(&shares, &look);
        if (share != rows[i].share)
            fail_msg("%s: %llu", rows[i].what, (unsigned long long)share);
    }
}

/* Job 7 has given back 250 of 1000 bytes since its monitor looked: it is not told to give back more. */
static void test_what_was_given_back_counts(void **state)
{
    (void)state;
    struct hm_shares shares = table();
    struct hm_shares_look look = {.job_id = 7,
                                  .used_bytes = {750, 750},
                                  .job_bytes = {750, 750},
                                  .knows_job = true,
                                  .room_bytes = 250,
                                  .total_bytes = 1000};
    hm_shares_note(&shares, 7, 1000, 500);
    hm_shares_note(&shares, 8, 0, 500);
    assert_true(hm_shares_of_step(&shares, &look) == 750);
    look.job_bytes[0] = 800; /* another step has 50 */
    look.room_bytes = 200;
    assert_true(hm_shares_of_step(&shares, &look) == 750 * 750 / 800);
    look.job_bytes[0] = 0; /* read a moment before the step's own */
    assert_true(hm_shares_of_step(&shares, &look) < 750);
}

static void test_who_shares_with_nobody(void **state)
{
    (void)state;
    struct hm_shares shares = table();
    struct hm_shares_look look = {.job_id = 7, .used_bytes = {10, 10}, .total_bytes = 10};
    assert_true(hm_shares_of_step(&shares, &look) < ALL);
    look.job_id = 9; /* it came when there was no row left, or is not of a job */
    assert_true(hm_shares_of_step(&shares, &look) == ALL);
    look.job_id = 0;
    assert_true(hm_shares_of_step(&shares, &look) == ALL);
    look.job_id = 7;
    hm_shares_leave(&shares, 8);
    hm_shares_leave(&shares, 8);
    assert_true(hm_shares_of_step(&shares, &look) == ALL);
}

static void test_rows(void **state)
{
    (void)state;
    struct hm_shares shares = table();
    struct hm_error error = {0};
    hm_shares_note(&shares, 7, 100, 200);
    hm_shares_note(&shares, 9, 1, 1); /* nobody's */
    assert_int_equal(hm_shares_join(&shares, 7, 5, 10, &error), 0);
    const struct hm_shares_row *row = hm_shares_find(&shares, 7);
    assert_int_equal(row->weight, 5);
    assert_true(row->cap_bytes == HM_SHARES_NO_CAP); /* another migrator of it has no cap */
    assert_int_equal(row->fast_bytes, 100);
    assert_int_equal(hm_shares_join(&shares, 10, 1, 10, NULL), 0);
    assert_int_equal(hm_shares_join(&shares, 10, 1, 30, NULL), 0);
    assert_int_equal(hm_shares_find(&shares, 10)->cap_bytes, 30);
    hm_shares_leave(&shares, 7);
    assert_null(hm_shares_find(&shares, 7));
    assert_int_equal(hm_shares_join(&shares, 11, 1, HM_SHARES_NO_CAP, NULL), 0);
    assert_true(hm_shares_find(&shares, 11)->fast_bytes == HM_SHARES_UNKNOWN); /* not what job 7 had in this row */
    for (uint32_t id = 1000; id < 1000 + HM_SHARES_ROWS - 3; id++)
        assert_int_equal(hm_shares_join(&shares, id, 1, HM_SHARES_NO_CAP, NULL), 0);
    assert_int_equal(hm_shares_join(&shares, 12, 1, HM_SHARES_NO_CAP, &error), -1);
    assert_int_equal(errno, ENOSPC);
}

static void test_file(void **state)
{
    (void)state;
    const char *path = scratch_path("shares");
    struct hm_error error = {0};
    struct hm_shares seen;
    assert_int_equal(hm_shares_open(path, &error), -1);
    assert_null(hm_shares_map(path, &error));
    assert_int_equal(errno, ENOENT);
    assert_int_equal(hm_shares_make(path, &error), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600); /* no user reads of others' jobs */
    struct hm_shares *shares = hm_shares_map(path, &error);
    assert_non_null(shares);
    assert_int_equal(hm_shares_join(shares, 7, 3, 50, NULL), 0);
    assert_int_equal(hm_shares_make(path, &error), 0); /* one that is there stays */
    int fd = hm_shares_open(path, &error);
    assert_int_equal(hm_shares_read(fd, &seen, &error), 0);
    assert_int_equal(hm_shares_find(&seen, 7)->cap_bytes, 50);
    shares->version++;
    assert_int_equal(hm_shares_read(fd, &seen, &error), -1);
    assert_int_equal(errno, EBADMSG);
    hm_shares_unmap(shares);
    assert_null(hm_shares_map(path, &error));
    assert_int_equal(errno, EBADMSG);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(hm_shares_read(fd, &seen, &error), -1);
    close(fd);
    hm_shares_unmap(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_a_split_is_fair),
        cmocka_unit_test(test_what_a_step_may_have),
        cmocka_unit_test(test_what_was_given_back_counts),
        cmocka_unit_test(test_who_shares_with_nobody),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_file),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
