/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what a migrator knows of its own job when it finds out its share of the fast tier, and that a step which is
 * above its cap or share does not wait for ever, and what a decision has moved counts at its end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "core/share/shares.h"
#include "migrator/live/live.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define MIB (UINT64_C(1) << 20)

/* A table in which job 7 shares the fast tier with job 8, and has 1000 MiB of it as its monitor told. */
static int open_table(void)
{
    struct hm_error error = {0};
    const char *path = scratch_path("shares");
    assert_int_equal(hm_shares_make(path, &error), 0);
    struct hm_shares *shares = hm_shares_map(path, &error);
    assert_non_null(shares);
    assert_int_equal(hm_shares_join(shares, 7, 3, HM_SHARES_NO_CAP, &error), 0);
    assert_int_equal(hm_shares_join(shares, 8, 1, HM_SHARES_NO_CAP, &error), 0);
    hm_shares_note(shares, 7, 1000 * MIB, 500 * MIB);
    hm_shares_note(shares, 8, 0, 500 * MIB);
    hm_shares_unmap(shares);
    return hm_shares_open(path, &error);
}

/* The job has given back since its monitor looked. Its migrator looks at the job itself, and leaves it at that. */
static void what_was_given_back_is_not_asked_for_again(void **state)
{
    (void)state;
    static struct hm_live live;
    static struct hm_progress progress;
    char *cgroup = scratch_path("job_7/step_0/user");
    const uint64_t step[2] = {750 * MIB, 750 * MIB};
    const struct hm_options options = {.job_id = 7, .cgroup = cgroup};
    struct hm_set tiers[2] = {0};
    assert_int_equal(mkdir(scratch_path("job_7"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("job_7/step_0"), 0700), 0);
    assert_int_equal(mkdir(cgroup, 0700), 0);
    scratch_write(scratch_path("job_7/memory.numa_stat"), "anon N0=786432000 N1=786432000\nfile N0=0 N1=0\n");
    live.options = &options;
    live.shown.progress = &progress;
    live.nodes.n = 1;
    live.nodes.node[0] = (struct hm_node_state){.total_bytes = 1000 * MIB, .free_bytes = 250 * MIB};
    live.share.fd = open_table();
    hm_set_add(&tiers[0], 0);
    hm_set_add(&tiers[1], 1);
    hm_node_map_fill(&live.account.node_map, tiers, 2);
    hm_live_read_share(&live, step);
    assert_true(live.share.is_above); /* by what the monitor told */
    hm_live_open_share(&live);
    hm_live_read_share(&live, step);
    assert_false(live.share.is_above);
    assert_int_equal(live.share.pages, 750 * MIB / hm_page_size());
    assert_int_equal(progress.share_bytes, 750 * MIB);
    hm_cgroup_close(&live.share.job);
    close(live.share.fd);
}

/* Jobs 7 and 8 have a socket each, with 1000 MiB of the tier: neither can use what the other would give back. */
static void a_share_is_of_the_whole_tier(void **state)
{
    (void)state;
    static struct hm_live live;
    static struct hm_progress progress;
    const uint64_t step[2] = {1000 * MIB, 0};
    const struct hm_options options = {.job_id = 7, .cgroup = ""};
    struct hm_error error = {0};
    struct hm_node_state node = {.total_bytes = 1000 * MIB};
    live.options = &options;
    live.shown.progress = &progress;
    live.nodes.n = 1;
    live.nodes.node[0] = node;
    live.share.fd = open_table();
    struct hm_shares *shares = hm_shares_map(scratch_path("shares"), &error);
    assert_non_null(shares);
    hm_shares_find(shares, 7)->weight = 1;
    hm_shares_note(shares, 8, 1000 * MIB, 0);
    hm_shares_unmap(shares);
    hm_live_open_share(&live); /* --shared-nodes was not given: the tier is what the step uses */
    hm_live_read_share(&live, step);
    assert_true(live.share.is_above);
    live.share.is_wider = true;
    live.share.nodes.n = 2;
    live.share.nodes.node[0] = live.share.nodes.node[1] = node;
    live.share.nodes.node[0].id = live.share.nodes.node[1].id = HM_NODES_NUMBERS - 1; /* not there: nothing is free */
    hm_live_read_share(&live, step);
    assert_false(live.share.is_above);
    assert_int_equal(live.share.pages, 1000 * MIB / hm_page_size());
    close(live.share.fd);
}

/* Processes come and go, so that no round of looks ends. */
static void a_cap_does_not_wait_for_a_round_that_never_ends(void **state)
{
    (void)state;
    static struct hm_live live;
    const uint64_t interval_ms = 1000, begin_ns = 5 * UINT64_C(1000000000);
    const struct hm_options options = {.interval_ms = interval_ms};
    struct hm_source source = {.state = {.has_rounds = true}};
    const char *cgroup = scratch_path("step");
    struct hm_set tiers[2] = {0};
    assert_int_equal(mkdir(cgroup, 0700), 0);
    scratch_write(scratch_path("step/memory.numa_stat"), "anon N0=786432000 N1=0\nfile N0=0 N1=0\n");
    live.options = &options;
    live.intake.source = &source;
    live.share.fd = -1;
    live.account.pace.interval_ms = interval_ms;
    live.account.has_cgroup = hm_cgroup_open(&live.account.cgroup, cgroup) == 0;
    hm_set_add(&tiers[0], 0);
    hm_set_add(&tiers[1], 1);
    hm_node_map_fill(&live.account.node_map, tiers, 2);
    static const struct {
        uint64_t cap_mib, lengths;
        bool is_over;
    } rows[] = {{700, 29, false}, {700, 30, true}, {800, 30, false}, {800, 3000, false}};
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        uint64_t now = begin_ns + rows[i].lengths * interval_ms * 1000000;
        live.cap_pages = rows[i].cap_mib * MIB / hm_page_size();
        hm_live_begin_phase(&live, begin_ns);
        hm_live_look_at_limits(&live, now);
        if (hm_live_phase_is_over(&live, now) != rows[i].is_over)
            fail_msg("row %zu", i);
    }
    hm_cgroup_close(&live.account.cgroup);
}

static void what_a_decision_has_moved_counts_at_its_end(void **state)
{
    (void)state;
    static const struct {
        const char *about;
        uint64_t fast_mib, slow_mib, share_mib, cap_mib;
        bool knows_usage, was_above, is_above, is_calm;
    } rows[] = {
        {"the share was kept before", 100, 0, 200, 1000, true, false, false, true},
        {"all above the share went down", 200, 100, 200, 1000, true, true, false, false},
        {"not all went down", 201, 0, 190, 1000, true, true, true, false},
        {"above the share by its slack, for which there is nothing to do", 201, 0, 200, 1000, true, false, true, true},
        {"above the cap", 201, 0, 300, 200, true, false, false, false},
        {"the cgroup does not tell what the step has, and no page was looked at", 0, 0, 200, 1000, false, false, false,
         false},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        static struct hm_live live;
        live = (struct hm_live){
            .load.share.fast = 1,
            .account = {.has_cgroup = true, .knows_usage = rows[i].knows_usage},
            .cap_pages = rows[i].cap_mib * MIB / hm_page_size(),
            .share = {.pages = rows[i].share_mib * MIB / hm_page_size(), .is_above = rows[i].was_above}};
        live.shown.view.fast_bytes = rows[i].fast_mib * MIB;
        live.shown.view.slow_bytes = rows[i].slow_mib * MIB;
        hm_live_rest_decided(&live);
        if (live.share.is_above != rows[i].is_above || (live.rest.calm > 0) != rows[i].is_calm)
            fail_msg("%s", rows[i].about);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_given_back_is_not_asked_for_again),
                                       cmocka_unit_test(a_share_is_of_the_whole_tier),
                                       cmocka_unit_test(a_cap_does_not_wait_for_a_round_that_never_ends),
                                       cmocka_unit_test(what_a_decision_has_moved_counts_at_its_end)};
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
