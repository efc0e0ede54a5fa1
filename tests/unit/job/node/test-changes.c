/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the node's settings that jobs change: what a plan wants, what is set, and what is restored at a job's end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "job/node/changes.h"
#include "unit/job/freshledger.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

static struct hm_config config;
static struct hm_error error;
static char setting[64];
static bool lacks_memory; /* no memory for the list of entries */
static int n_lists;

int __wrap_hm_ledger_list(const struct hm_config *of, uint32_t **ids, struct hm_error *why);
int __real_hm_ledger_list(const struct hm_config *of, uint32_t **ids, struct hm_error *why);

int __wrap_hm_ledger_list(const struct hm_config *of, uint32_t **ids, struct hm_error *why)
{
    *ids = NULL;
    n_lists++;
    return lacks_memory ? hm_fail(why, ENOMEM, "no memory") : __real_hm_ledger_list(of, ids, why);
}

static void set(const char *value)
{
    char line[32];
    snprintf(line, sizeof(line), "%s\n", value);
    scratch_write(setting, line);
}

static const char *get(void)
{
    static char value[16];
    assert_int_equal(hm_file_read(setting, value, sizeof(value), &error), 0);
    return value;
}

static int fresh(void **state)
{
    (void)state;
    ledger_empty(&config);
    snprintf(setting, sizeof(setting), "%s/setting", scratch);
    return 0;
}

static struct hm_job *entry(uint32_t id)
{
    struct hm_job *job = malloc(sizeof(*job));
    assert_non_null(job);
    if (hm_ledger_read(&config, id, job, NULL) != 0)
        hm_job_init(job, id);
    return job;
}

static void apply(uint32_t id, const char *value, bool only_raise)
{
    struct hm_wanted wanted = {.only_raise = only_raise};
    snprintf(wanted.path, sizeof(wanted.path), "%s", setting);
    snprintf(wanted.value, sizeof(wanted.value), "%s", value);
    struct hm_job *job = entry(id);
    assert_int_equal(hm_changes_apply(&config, job, &wanted, 1, &error), 0);
    free(job);
}

static void undo(uint32_t id)
{
    struct hm_job *job = entry(id);
    assert_int_equal(hm_changes_undo(&config, job, &error), 0);
    assert_int_equal(job->n_changes, 0);
    assert_int_equal(hm_ledger_write(&config, job, &error), 0);
    free(job);
}

/* What happens to one setting, step by step, and its value after each step. */
struct event {
    enum { END, APPLY, RAISE, UNDO, SITE } what;
    uint32_t job;
    const char *value;
    const char *then;
};

static const struct event stories[][8] = {
    /* one job */
    {{SITE, 0, "1", "1"}, {APPLY, 1, "3", "3"}, {UNDO, 1, NULL, "1"}, {UNDO, 1, NULL, "1"}},
    /* the site has the value already: nothing is undone */
    {{SITE, 0, "3", "3"}, {APPLY, 1, "3", "3"}, {UNDO, 1, NULL, "3"}},
    /* a second step wants another value: the first `before` stays */
    {{SITE, 0, "1", "1"}, {APPLY, 1, "3", "3"}, {APPLY, 1, "5", "5"}, {UNDO, 1, NULL, "1"}},
    /* the step's value was noted, and could not be set: the setting still has that of the step before */
    {{SITE, 0, "1", "1"}, {APPLY, 1, "3", "3"}, {APPLY, 1, "5", "5"}, {SITE, 0, "3", "3"}, {UNDO, 1, NULL, "1"}},
    {{SITE, 0, "1", "1"},
     {APPLY, 1, "3", "3"},
     {APPLY, 1, "5", "5"},
     {SITE, 0, "3", "3"},
     {APPLY, 1, "7", "7"},
     {SITE, 0, "3", "3"},
     {UNDO, 1, NULL, "1"}},
    /* two jobs: the last one to end restores the first value, in either order */
    {{SITE, 0, "1", "1"}, {APPLY, 1, "3", "3"}, {APPLY, 2, "3", "3"}, {UNDO, 1, NULL, "3"}, {UNDO, 2, NULL, "1"}},
    {{SITE, 0, "1", "1"}, {APPLY, 1, "3", "3"}, {APPLY, 2, "3", "3"}, {UNDO, 2, NULL, "3"}, {UNDO, 1, NULL, "1"}},
    /* the site changes the setting meanwhile: the site's value stays */
    {{SITE, 0, "1", "1"}, {APPLY, 1, "3", "3"}, {SITE, 0, "7", "7"}, {UNDO, 1, NULL, "7"}},
    /* a setting that is only raised stays if it is higher */
    {{SITE, 0, "200", "200"}, {RAISE, 1, "100", "200"}, {UNDO, 1, NULL, "200"}},
    /* raised twice, ended in both orders */
    {{SITE, 0, "10", "10"},
     {RAISE, 1, "100", "100"},
     {RAISE, 2, "300", "300"},
     {UNDO, 2, NULL, "100"},
     {UNDO, 1, NULL, "10"}},
    {{SITE, 0, "10", "10"},
     {RAISE, 1, "100", "100"},
     {RAISE, 2, "300", "300"},
     {UNDO, 1, NULL, "300"},
     {UNDO, 2, NULL, "10"}},
    /* a job with a smaller need gets its own value when the job with the larger one ends */
    {{SITE, 0, "10", "10"},
     {RAISE, 1, "300", "300"},
     {RAISE, 2, "100", "300"},
     {UNDO, 1, NULL, "100"},
     {UNDO, 2, NULL, "10"}},
    {{SITE, 0, "10", "10"},
     {RAISE, 1, "300", "300"},
     {RAISE, 2, "100", "300"},
     {UNDO, 2, NULL, "300"},
     {UNDO, 1, NULL, "10"}},
    /* words instead of numbers */
    {{SITE, 0, "true", "true"}, {APPLY, 1, "false", "false"}, {UNDO, 1, NULL, "true"}},
};

static void test_stories(void **state)
{
    (void)state;
    for (size_t s = 0; s < N_ROWS(stories); s++) {
        fresh(NULL);
        for (const struct event *event = stories[s]; event->what != END; event++) {
            if (event->what == SITE)
                set(event->value);
            else if (event->what == UNDO)
                undo(event->job);
            else
                apply(event->job, event->value, event->what == RAISE);
            if (strcmp(get(), event->then) != 0)
                fail_msg("story %zu, event %td: %s, not %s", s, event - stories[s], get(), event->then);
        }
    }
}

static void test_the_intent_is_written_before_the_setting(void **state)
{
    (void)state;
    /* The second of two changes fails, as its path is a folder. So the first one is not made either. */
    struct hm_wanted wanted[2] = {{.value = "3"}, {.value = "4"}};
    snprintf(wanted[0].path, sizeof(wanted[0].path), "%s", setting);
    snprintf(wanted[1].path, sizeof(wanted[1].path), "%s", scratch);
    set("1");
    struct hm_job *job = entry(1);
    assert_int_equal(hm_changes_apply(&config, job, wanted, 2, &error), -1);
    assert_non_null(strstr(error.text, scratch));
    assert_string_equal(get(), "1");

    /* If the ledger cannot be opened, nothing is changed. */
    job->n_changes = 0;
    assert_int_equal(chmod(config.run_dir, 0777), 0);
    assert_int_equal(hm_changes_apply(&config, job, wanted, 1, &error), -1);
    assert_string_equal(get(), "1");
    assert_int_equal(chmod(config.run_dir, 0755), 0);
    free(job);

    /* After a crash between the entry and the setting, undoing finds another value than the job's, and leaves it. */
    apply(1, "3", false);
    set("1");
    undo(1);
    assert_string_equal(get(), "1");

    apply(1, "3", false);
    job = entry(1);
    assert_int_equal(job->n_changes, 1);
    assert_string_equal(job->change[0].before, "1");
    assert_string_equal(job->change[0].after, "3");
    free(job);
    undo(1);
}

/* If memory runs out, the changes of other jobs are not known: no value is taken for the site's, and none restored. */
static void test_a_setting_of_unknown_others_stays(void **state)
{
    (void)state;
    struct hm_wanted wanted = {.value = "5"};
    snprintf(wanted.path, sizeof(wanted.path), "%s", setting);
    set("1");
    apply(1, "3", false);
    struct hm_job *job = entry(2);
    lacks_memory = true;
    assert_int_equal(hm_changes_apply(&config, job, &wanted, 1, &error), -1);
    lacks_memory = false;
    assert_int_equal(job->n_changes, 0);
    assert_string_equal(get(), "3");
    assert_int_equal(hm_changes_apply(&config, job, &wanted, 1, &error), 0);
    lacks_memory = true;
    assert_int_equal(hm_changes_undo(&config, job, &error), -1);
    lacks_memory = false;
    assert_int_equal(job->n_changes, 1);
    assert_string_equal(get(), "5");
    assert_int_equal(hm_changes_undo(&config, job, &error), 0);
    assert_string_equal(get(), "3");
    free(job);
}

/* The weight of a node of memory goes with the node, and nobody has to restore it. */
static void test_a_setting_that_is_gone_is_undone(void **state)
{
    (void)state;
    set("1");
    apply(1, "3", false);
    assert_int_equal(unlink(setting), 0);
    undo(1);
}

static void test_no_room(void **state)
{
    (void)state;
    struct hm_wanted wanted = {.value = "3"};
    snprintf(wanted.path, sizeof(wanted.path), "%s", setting);
    set("1");
    struct hm_job *job = entry(1);
    job->n_changes = HM_JOB_CHANGES;
    for (int i = 0; i < HM_JOB_CHANGES; i++)
        snprintf(job->change[i].path, sizeof(job->change[i].path), "/%d", i);
    assert_int_equal(hm_changes_apply(&config, job, &wanted, 1, &error), -1);
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(get(), "1");
    free(job);
}

static void test_what_a_plan_wants(void **state)
{
    (void)state;
    struct hm_wanted wanted[8];
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    struct hm_plan *plan = calloc(1, sizeof(*plan));
    assert_non_null(tiers);
    assert_non_null(plan);
    assert_int_equal(hm_changes_wanted(plan, tiers, wanted, 8), 0);

    tiers->topology.n_nodes = 3;
    tiers->topology.node[0].id = 0;
    tiers->topology.node[1].id = 4;
    tiers->topology.node[2].id = 9;
    plan->weights[0] = 5;
    plan->weights[2] = 1;
    assert_int_equal(hm_changes_wanted(plan, tiers, wanted, 8), 0); /* without has_weights, the weights do not count */
    plan->has_weights = true;
    assert_int_equal(hm_changes_wanted(plan, tiers, wanted, 8), 2);
    assert_non_null(strstr(wanted[0].path, "/node0"));
    assert_string_equal(wanted[0].value, "5");
    assert_non_null(strstr(wanted[1].path, "/node9"));
    assert_string_equal(wanted[1].value, "1");
    assert_false(wanted[0].only_raise);
    assert_int_equal(hm_changes_wanted(plan, tiers, wanted, 1), 1); /* there is room for one only */

    static const struct {
        uint64_t reserve, capacity; /* bytes */
        const char *value;          /* reserve in 1/10000 of the capacity, 10 to 1000 */
    } rows[] = {
        {1, 1000000, "10"},         {20, 1000, "200"},   {200, 1000, "1000"},
        {UINT64_MAX, 1000, "1000"}, {123, 10000, "123"}, {1, 3, "1000"},
    };
    plan->has_weights = false;
    tiers->n_tiers = 2;
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        plan->reserve_bytes = rows[i].reserve;
        tiers->tier[0].capacity_bytes = rows[i].capacity;
        assert_int_equal(hm_changes_wanted(plan, tiers, wanted, 8), 1);
        assert_string_equal(wanted[0].path, "/proc/sys/vm/watermark_scale_factor");
        assert_string_equal(wanted[0].value, rows[i].value);
        assert_true(wanted[0].only_raise);
    }
    tiers->tier[0].capacity_bytes = 0;
    assert_int_equal(hm_changes_wanted(plan, tiers, wanted, 8), 0);
    free(plan);
    free(tiers);
}

/* Others wait for the lock meanwhile, with 256 jobs on a node perhaps. */
static void test_other_jobs_are_looked_at_once(void **state)
{
    (void)state;
    struct hm_wanted wanted[3] = {{.value = "3"}, {.value = "3"}, {.value = "3"}};
    struct hm_job *job = entry(1);
    for (int i = 0; i < 3; i++) {
        snprintf(wanted[i].path, sizeof(wanted[i].path), "%s%d", setting, i);
        scratch_write(wanted[i].path, "1\n");
    }
    n_lists = 0;
    assert_int_equal(hm_changes_apply(&config, job, wanted, 3, &error), 0);
    assert_int_equal(n_lists, 1);
    assert_int_equal(hm_changes_apply(&config, job, wanted, 3, &error), 0); /* they are the job's own already */
    assert_int_equal(n_lists, 1);
    assert_int_equal(hm_changes_undo(&config, job, &error), 0);
    assert_int_equal(n_lists, 2);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_stories, fresh),
        cmocka_unit_test_setup(test_the_intent_is_written_before_the_setting, fresh),
        cmocka_unit_test_setup(test_a_setting_of_unknown_others_stays, fresh),
        cmocka_unit_test_setup(test_a_setting_that_is_gone_is_undone, fresh),
        cmocka_unit_test_setup(test_no_room, fresh),
        cmocka_unit_test_setup(test_other_jobs_are_looked_at_once, fresh),
        cmocka_unit_test(test_what_a_plan_wants),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
