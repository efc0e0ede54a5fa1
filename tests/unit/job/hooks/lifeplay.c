/* SPDX-License-Identifier: Apache-2.0 */
#include "lifeplay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "job/hooks/begin.h"
#include "job/hooks/finish.h"
#include "job/hooks/provide.h"
#include "job/hooks/reap.h"
#include "job/step/step.h"
#include "job/step/task.h"
#include "lifeworld.h"
#include "unit/lib/faults.h"
#include "unit/lib/rows.h"
#include "unit/lib/scratch.h"

#define GRACE_S 600

static const struct life *life;
static struct outcome *came;
static uint32_t run; /* the job's restart count */
static struct hm_job entry;

/* ------------------------------------------------------------------ processes */

static void reap(unsigned grace_s)
{
    struct hm_error left = {0};
    const struct hm_reap how = {.grace_s = grace_s, .is_config_known = true};
    hm_reap(&world.config, &how, &left);
}

static void prolog(void)
{
    bool has_left;
    struct hm_error error = {0};
    const struct hm_begin begin = {.job_id = JOB,
                                   .restart = run,
                                   .het_job_id = HM_NO_ID,
                                   .uid = geteuid(),
                                   .gid = getegid(),
                                   .request = life->request,
                                   .user = "alice",
                                   .account = "physics",
                                   .partition = "main",
                                   .cluster = "test",
                                   .node = "n1"};
    bool is_entered = hm_begin_job(&world.config, "", &begin, &has_left, &error) == 0;
    reap(GRACE_S);
    if (is_entered)
        hm_provide_memory(&world.config, JOB, &error);
}

static void epilog(void)
{
    const int status = 0;
    hm_finish_job(&world.config, JOB, NULL, &status);
    reap(GRACE_S);
    hm_reap_records(&world.config);
}

static void end_other(void)
{
    hm_finish_job(&world.config, OTHER, NULL, NULL);
}

static void last_reap(void)
{
    reap(0);
    while (hm_reap_records(&world.config)) {
    }
}

/* The slurmstepd of a step, until its end. */
static void play_step(uint32_t step_id, const char *option)
{
    static struct hm_outcome ends;
    struct hm_error error = {0};
    const struct hm_step_facts facts = {.config_path = world_config_path(),
                                        .job_id = JOB,
                                        .step_id = step_id,
                                        .n_tasks = 1,
                                        .restart = run,
                                        .array_job_id = HM_NO_ID,
                                        .array_task_id = HM_NO_ID,
                                        .uid = geteuid(),
                                        .gid = getegid(),
                                        .option = option,
                                        .cores = "0-7"};
    struct hm_step *step = calloc(1, sizeof(*step));
    if (!step)
        return;
    memset(&ends, 0, sizeof(ends));
    world.was_planned = false;
    hm_step_prepare(&facts, step, &error);
    bool has_nothing = life->is_refused || (strstr(life->request, "fsdax") && !world.has_namespaces);
    came->is_allowed |= has_nothing && (world.was_planned || (step->is_active && !step->refusal[0]));
    if (step_id != HM_STEP_EXTERN)
        hm_task_ended(step, &ends, 0, &error);
    hm_step_end(step, &error);
    free(step);
}

static void extern_step(void)
{
    world.step = "step_extern";
    play_step(HM_STEP_EXTERN, life->request);
}

static void batch_step(void)
{
    world.step = "step_batch";
    world.wanted = life->has_company ? "5" : "3";
    play_step(HM_STEP_BATCH, life->request);
}

static void another_step(void)
{
    world.step = "step_0";
    world.wanted = "7";
    /* A request of the step's own is judged by the step, not by the prolog. */
    play_step(0, life->is_refused ? "interleave" : life->request);
}

/* ------------------------------------------------------------------ a life */

/* Which runs of the job are to have a record? */
static void look(void)
{
    if (hm_ledger_read(&world.config, JOB, &entry, NULL) == 0 && entry.restart < RUNS && entry.recorded)
        came->was_entered[entry.restart] = true;
}

static void play(void (*process)(void), bool can_fail)
{
    world.step = NULL;
    faults_run(process, can_fail);
    faults_run(look, false);
}

/* The epilog that comes while the prolog makes persistent memory, or after the prolog if that makes none. */
static void early_epilog(void)
{
    world.meanwhile = NULL;
    faults_run(look, false);
    world_stop(JOB);
    play(epilog, true);
}

static void play_event(char event)
{
    static const struct {
        char letter;
        void (*process)(void);
        bool is_step;
    } events[] = {{'p', prolog, false},      {'q', prolog, false}, {'x', extern_step, true}, {'s', batch_step, true},
                  {'t', another_step, true}, {'e', epilog, false}, {'o', end_other, false},  {'n', last_reap, false}};
    char letter = (char)(event | 0x20);
    world.meanwhile = letter == 'q' ? early_epilog : NULL;
    if (strchr("ern", letter))
        world_stop(JOB);
    else if (letter == 'o')
        world_stop(OTHER);
    for (size_t i = 0; i < N_ROWS(events); i++) {
        if (events[i].letter != letter)
            continue;
        if (!strchr("eno", letter))
            world_start(JOB, events[i].is_step && !life->has_no_cgroup);
        play(events[i].process, event != letter);
    }
    if (world.meanwhile)
        early_epilog();
    run += letter == 'r';
}

/* The other job, with the change that it has made. */
static void make_company(void)
{
    struct hm_error error = {0};
    hm_job_init(&entry, OTHER);
    entry.is_entered = true;
    snprintf(entry.cgroup, sizeof(entry.cgroup), "%s/node/cgroup/job_%d", scratch, OTHER);
    entry.n_changes = 1;
    entry.change[0] = (struct hm_change){.before = UNCHANGED, .after = "3"};
    snprintf(entry.change[0].path, sizeof(entry.change[0].path), "%s", world_setting());
    scratch_write(world_setting(), "3\n");
    world_start(OTHER, true);
    assert_int_equal(hm_ledger_write(&world.config, &entry, &error), 0);
}

void life_play(const struct life *of, struct outcome *outcome)
{
    life = of;
    came = outcome;
    run = 0;
    memset(outcome, 0, sizeof(*outcome));
    assert_int_equal(world_make(life->lines ? life->lines : ""), 0);
    world.holds_killed = life->holds_killed;
    world.has_cgroup = !life->has_no_cgroup;
    if (life->waits)
        snprintf(world.config.record_dir, sizeof(world.config.record_dir), "%s/node/site", scratch);
    if (life->has_company)
        make_company();
    for (const char *event = life->events; *event; event++)
        play_event(*event);
    world_stop(JOB);
    world_stop(OTHER);
    if (life->waits)
        assert_int_equal(mkdir(world.config.record_dir, 0755), 0);
    play(last_reap, false);
}
