/* SPDX-License-Identifier: Apache-2.0 */
#include "guidedtask.h"

#include "core/apply/policy.h"
#include "guided.h"
#include "job/programs/migrator.h"
#include "profiled.h"
#include "taskparts.h"

/* Returns whether the outcome has this task's choice. */
static bool keep_guided(struct hm_outcome *outcome, const struct hm_guided *guided)
{
    if (!outcome || !hm_outcome_begin_part(&outcome->has_guided))
        return false;
    outcome->guided = *guided;
    __atomic_store_n(&outcome->has_guided, 1, __ATOMIC_RELEASE);
    return true;
}

/* The step's migrator may be there for tasks that cannot be guided. The last of the tasks ends it if all are. */
static void count_guided(const struct hm_step *step, struct hm_outcome *outcome)
{
    if (outcome && __atomic_add_fetch(&outcome->n_guided, 1, __ATOMIC_ACQ_REL) == step->n_tasks &&
        !step->request.guide.migrate)
        hm_migrator_dismiss(&step->migrator);
}

/* Places a task that cannot be guided, and says why once. It runs as without the option, or as with migrate. */
static int place_unguided(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_guided *guided,
                          struct hm_plan *plan, struct hm_error *error)
{
    struct hm_request request = step->request;
    request.mode = HM_MODE_MIGRATE;
    if (guided->is_migrated && (hm_task_resolve(step, &request, plan, error) != 0 || hm_policy_apply(plan, error) != 0))
        return -1;
    if (outcome)
        __atomic_fetch_add(&outcome->n_unguided, 1, __ATOMIC_ACQ_REL);
    /* A job's script or shell has its line in the record alone: it is its steps' programs that are guided. */
    if (!hm_step_is_script(step->step_id) && hm_outcome_is_first(outcome ? &outcome->said_unguided : NULL))
        hm_task_say(guided->why);
    return 0;
}

static int place_guided(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_plan *plan,
                        const struct hm_environment *environment, const char *text, struct hm_error *error)
{
    if (hm_policy_apply(plan, error) != 0 || hm_isolate_enter_guided(environment, text, step->job_id, error) != 0)
        return -1;
    count_guided(step, outcome);
    return 0;
}

/* Starts the recorder that guides the task. Where there can be none, the task runs as with spill, and one line says
 * why; a job's script has that in the record alone. */
static int place_online(const struct hm_step *step, struct hm_outcome *outcome, const struct hm_plan *plan,
                        const struct hm_environment *environment, struct hm_error *error)
{
    struct hm_error why = {""};
    hm_outcome_keep_plan(outcome, plan);
    bool is_guided = hm_profiled_begin(step, plan, outcome, environment, &why) == 0;
    if (outcome)
        __atomic_fetch_add(is_guided ? &outcome->n_guided : &outcome->n_unguided, 1, __ATOMIC_ACQ_REL);
    if (!is_guided && !hm_step_is_script(step->step_id) &&
        hm_outcome_is_first(outcome ? &outcome->said_unguided : NULL))
        hm_task_say(why.text);
    return hm_policy_apply(plan, error);
}

int hm_guidedtask_place(const struct hm_step *step, struct hm_outcome *outcome, struct hm_plan *plan,
                        const struct hm_environment *environment, struct hm_error *error)
{
    static struct hm_guided guided;
    static char text[HM_GUIDED_TEXT];
    if (plan->request.guide.online)
        return place_online(step, outcome, plan, environment, error);
    if (hm_guided_choose(environment, plan, step, &guided, text, error) != 0)
        return -1;
    bool is_kept = keep_guided(outcome, &guided);
    int result = text[0] ? place_guided(step, outcome, plan, environment, text, error)
                         : place_unguided(step, outcome, &guided, plan, error);
    if (is_kept)
        hm_outcome_keep_plan(outcome, plan);
    return result;
}
