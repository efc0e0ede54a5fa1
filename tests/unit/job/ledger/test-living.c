/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which jobs live, by their cgroups. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/heldlock.h"
#include "job/ledger/living.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

/* Makes a cgroup in the kernel's form. */
static void set_cgroup(struct hm_job *of, const char *populated)
{
    char events[64];
    snprintf(of->cgroup, sizeof(of->cgroup), "%s/cgroup", scratch);
    mkdir(of->cgroup, 0755);
    snprintf(events, sizeof(events), "populated %s\nfrozen 0\n", populated);
    scratch_write(scratch_path("cgroup/cgroup.events"), events);
}

static bool look(const struct hm_job *job)
{
    struct hm_life life;
    hm_life_look(job, &life);
    return hm_job_is_living(job, &life);
}

static void test_who_lives(void **state)
{
    (void)state;
    static struct hm_job job;
    hm_job_init(&job, 7);
    assert_true(look(&job)); /* no step yet */
    set_cgroup(&job, "1");
    assert_true(look(&job));
    set_cgroup(&job, "0");
    assert_false(look(&job));
    set_cgroup(&job, "1");
    snprintf(job.boot_id, sizeof(job.boot_id), "another boot");
    assert_false(look(&job));
    hm_job_init(&job, 7);
    snprintf(job.cgroup, sizeof(job.cgroup), "%s/removed", scratch);
    assert_false(look(&job));
}

/* A job that is taken for dead loses its memory and its settings of the node. So a failure to look is no death. */
static void test_a_job_whose_cgroup_cannot_be_read_lives(void **state)
{
    (void)state;
    static struct hm_job job;
    struct rlimit files, none;
    hm_job_init(&job, 7);
    set_cgroup(&job, "0");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = files.rlim_max};
    look(&job); /* it is dead; the next look must not go by this answer */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool is_living = look(&job); /* EMFILE */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    assert_true(is_living);
    assert_false(look(&job));
}

/* A job without a cgroup lives until a process notes its end. It is dead from then on, even if that process was killed
 * and has left the entry. */
static void test_without_a_cgroup_ended_means_dead(void **state)
{
    (void)state;
    static struct hm_job job;
    hm_job_init(&job, 7);
    job.dead_ns = job.end_ns = 1;
    job.has_ended = true;
    assert_false(look(&job)); /* the epilog has left the entry for the next reap */
    assert_int_equal(hm_process_identify(getpid(), &job.finisher), 0);
    assert_false(look(&job));
    job.finisher.start_time++; /* that process was killed */
    assert_false(look(&job));
    set_cgroup(&job, "1"); /* a step has started after all */
    assert_true(look(&job));
}

/* A look is of an entry as it was. Who has begun a step or another run since then, or was not looked at, lives. */
static void test_what_has_changed_since_the_look_lives(void **state)
{
    (void)state;
    static struct hm_job job, changed[3];
    struct hm_life life;
    hm_job_init(&job, 7);
    set_cgroup(&job, "0");
    hm_life_look(&job, &life);
    assert_false(hm_job_is_living(&job, &life));
    assert_true(hm_job_is_living(&job, NULL));
    changed[0] = changed[1] = changed[2] = job;
    changed[0].n_steps++;
    changed[1].start_ns++;
    snprintf(changed[2].cgroup, sizeof(changed[2].cgroup), "%s/another", scratch);
    for (size_t i = 0; i < N_ROWS(changed); i++)
        assert_true(hm_job_is_living(&changed[i], &life));
}

/* A user may make a look take long. So nobody looks while others wait. */
static void test_nobody_looks_with_the_lock(void **state)
{
    (void)state;
    static struct hm_job job;
    hm_job_init(&job, 7);
    set_cgroup(&job, "0");
    hm_heldlock_enter();
    bool is_living = look(&job);
    hm_heldlock_leave();
    assert_true(is_living);
    assert_false(look(&job));
}

static int looks_until_end; /* the finisher has been killed, and ends after so many looks at it */

bool __wrap_hm_process_is_running(const struct hm_process *process);
bool __wrap_hm_process_is_ending(const struct hm_process *process);

bool __wrap_hm_process_is_running(const struct hm_process *process)
{
    (void)process;
    return looks_until_end-- > 0;
}

bool __wrap_hm_process_is_ending(const struct hm_process *process)
{
    return __wrap_hm_process_is_running(process);
}

/* Whoever asks takes the job's end over then: nobody else does. */
static void test_who_was_killed_ends_no_job_whenever_they_end(void **state)
{
    (void)state;
    static struct hm_job job;
    hm_job_init(&job, 7);
    for (int looks = 0; looks < 3; looks++) {
        looks_until_end = looks;
        assert_false(hm_job_has_finisher(&job));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_lives),
        cmocka_unit_test(test_a_job_whose_cgroup_cannot_be_read_lives),
        cmocka_unit_test(test_without_a_cgroup_ended_means_dead),
        cmocka_unit_test(test_what_has_changed_since_the_look_lives),
        cmocka_unit_test(test_nobody_looks_with_the_lock),
        cmocka_unit_test(test_who_was_killed_ends_no_job_whenever_they_end),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
