/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plays lives of a job with faults at the calls that can meet one. Whatever the fault was, a reap must put the node
 * right once the fault's cause is gone (lifeplay.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lifeplay.h"
#include "unit/lib/faults.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define STRIDE 16

static const struct {
    enum fault kind;
    bool lasts;
} ways[] = {{FAULT_KILL, false},   {FAULT_DISK, false}, {FAULT_DISK, true}, {FAULT_FILES, false},
            {FAULT_MEMORY, false}, {FAULT_LOCK, false}, {FAULT_LOCK, true}};

/*
 * Plays the life again and again, with the fault at a later call each time, until no call meets it any more. With the
 * environment variable EACH_FAULT every call has its turn, which takes a minute; else one call in STRIDE has. Returns
 * how many lives were bad. A life in which no call at all can meet the fault counts as bad, too, if the first call
 * has its turn.
 */
static unsigned play_with(const struct life *life, size_t way)
{
    struct outcome outcome;
    const unsigned stride = getenv("EACH_FAULT") ? 1 : STRIDE;
    unsigned bad = 0;
    for (unsigned at = 1 + (unsigned)way % stride;; at += stride) {
        faults_arm(ways[way].kind, at, ways[way].lasts);
        life_play(life, &outcome);
        bool has_fault = faults_were_met();
        const char *why = life_check(life, &outcome, has_fault, ways[way].kind == FAULT_KILL);
        if (why) {
            fprintf(stderr, "%s: %s%s at call %u, %s: %s\n", life->events, fault_name(ways[way].kind),
                    ways[way].lasts ? " from there on" : "", at, faults_call(), why);
            bad++;
        }
        if (!has_fault) {
            if (at == 1)
                fprintf(stderr, "%s: no call can meet the fault: %s\n", life->events, fault_name(ways[way].kind));
            return bad + (at == 1);
        }
    }
}

/* A process that is killed here leaks memory. So a child plays all lives, and ends by _exit, without a look for leaks.
 */
static void live(const struct life *life)
{
    int status;
    unsigned bad = 0;
    pid_t child = fork();
    if (child == 0) {
        for (size_t way = 0; way < N_ROWS(ways); way++)
            bad += play_with(life, way);
        _exit(bad != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void an_ordinary_job(void **state)
{
    (void)state;
    live(&(struct life){.events = "PXSE", .request = "migrate"});
}

static void a_job_without_steps(void **state)
{
    (void)state;
    live(&(struct life){.events = "PE", .request = "slow"});
}

static void a_job_without_an_extern_step(void **state)
{
    (void)state;
    live(&(struct life){.events = "PSTE", .request = "slow"});
}

static void a_job_in_cgroup_v1(void **state)
{
    (void)state;
    live(&(struct life){.events = "PSE", .request = "slow", .has_no_cgroup = true});
}

static void a_requeued_job(void **state)
{
    (void)state;
    live(&(struct life){.events = "PSrPSE", .request = "slow", .runs_may_merge = true});
}

/* The epilog of the first run is killed, and the kernel does not let it end: nobody waits for it to do its work. */
static void a_requeued_job_whose_epilog_is_held(void **state)
{
    (void)state;
    live(&(struct life){.events = "psErpse", .request = "slow", .holds_killed = true});
    live(&(struct life){.events = "psErpse", .request = "fsdax,size=1G", .holds_killed = true});
}

static void a_job_quicker_than_its_prolog(void **state)
{
    (void)state;
    live(&(struct life){.events = "Q", .request = "fsdax,size=1G"});
    live(&(struct life){.events = "EP", .request = "fsdax,size=1G"});
}

static void a_job_cancelled_in_its_prolog(void **state)
{
    (void)state;
    live(&(struct life){.events = "PE", .request = "fsdax,size=1G"});
}

static void a_job_with_file_systems(void **state)
{
    (void)state;
    live(&(struct life){.events = "PSE", .request = "fsdax,size=1G"});
}

static void a_job_that_is_refused(void **state)
{
    (void)state;
    live(&(struct life){
        .events = "PSTE", .request = "slow", .lines = "account \"physics\" { modes = { fast } }", .is_refused = true});
}

static void a_job_in_company(void **state)
{
    (void)state;
    live(&(struct life){.events = "PSoE", .request = "slow", .has_company = true});
}

static void a_job_whose_record_waits(void **state)
{
    (void)state;
    live(&(struct life){.events = "PSEE", .request = "slow", .waits = true});
}

static void a_job_without_an_epilog(void **state)
{
    (void)state;
    live(&(struct life){.events = "PSN", .request = "slow"});
}

/* Thousands of files are made and removed, which is faster in memory than on a disk. */
static int make_scratch(void **state)
{
    if (access("/dev/shm", W_OK) == 0)
        snprintf(scratch, sizeof("/tmp/hm-test.XXXXXX"), "/dev/shm/hm.XXXXXX");
    return scratch_make(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_ordinary_job),
        cmocka_unit_test(a_job_without_steps),
        cmocka_unit_test(a_job_without_an_extern_step),
        cmocka_unit_test(a_job_in_cgroup_v1),
        cmocka_unit_test(a_requeued_job),
        cmocka_unit_test(a_requeued_job_whose_epilog_is_held),
        cmocka_unit_test(a_job_quicker_than_its_prolog),
        cmocka_unit_test(a_job_cancelled_in_its_prolog),
        cmocka_unit_test(a_job_with_file_systems),
        cmocka_unit_test(a_job_that_is_refused),
        cmocka_unit_test(a_job_in_company),
        cmocka_unit_test(a_job_whose_record_waits),
        cmocka_unit_test(a_job_without_an_epilog),
    };
    return cmocka_run_group_tests(tests, make_scratch, scratch_drop);
}
