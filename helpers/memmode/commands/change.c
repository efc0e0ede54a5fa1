/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out what was decided: removes what dead jobs have left, deletes a goal, creates one, and reads each back.
 * Notes what was asked for: until the boot no namespace is made, and after it the check looks whether it has come. */
#include <config.h>

#include <errno.h>

#include "base/files.h"
#include "base/flock.h"
#include "base/spawn.h"
#include "namespace/pmem/asked.h"
#include "parts.h"

#define JOB HM_PKGLIBEXECDIR "/hybridmem-job"
#define REAP_PATIENCE_MS 3600000 /* it wipes what it removes */

static int take_change(const struct hm_nvmxml *answer, void *into, struct hm_error *error)
{
    (void)into;
    return hm_answers_change(answer, error);
}

/* Run a command that changes the goal. Returns 0 where ipmctl says that it has succeeded for each module. */
static int run_change(const char *ipmctl, enum hm_ipmctl_command command, struct hm_error *error)
{
    return hm_memmode_ask(ipmctl, command, take_change, NULL, error);
}

/* Read back what is pending. Returns 0 where it is `wanted`, or -1 with a text. */
static int check_pending(const char *ipmctl, unsigned modules, enum hm_memmode wanted, struct hm_error *error)
{
    struct hm_memmode_goal goal;
    if (hm_memmode_read_goal(ipmctl, &goal, error) != 0)
        return -1;
    enum hm_memmode pending = hm_memmode_pending(&goal, modules);
    if (pending == wanted)
        return 0;
    return hm_fail(error, EIO, "read back, the pending goal is %s, not %s (flat %u, cache %u, mixed %u of %u modules)",
                   hm_memmode_word(pending), hm_memmode_word(wanted), goal.n_flat, goal.n_cache, goal.n_mixed, modules);
}

/* Delete the goal. ipmctl reports an error for each module that has none, so only what is read back counts. */
static int drop_goal(const char *ipmctl, unsigned modules, struct hm_error *error)
{
    struct hm_error said = {{0}}, back = {{0}};
    int changed = run_change(ipmctl, HM_IPMCTL_DELETE, &said);
    if (check_pending(ipmctl, modules, HM_MEMMODE_NONE, &back) == 0)
        return 0;
    return hm_fail(error, EIO, "%s%s%s", changed != 0 ? said.text : "", changed != 0 ? "; " : "", back.text);
}

static int fail_left(const char *why, const struct hm_error *left, struct hm_error *error)
{
    hm_fail(error, EIO, "%s%s%s: delete the goal with 'ipmctl delete -goal', or the next boot may change the node", why,
            why[0] ? "; " : "", left->text);
    return HM_MEMMODE_EXIT_LEFT;
}

/* Delete a goal that is not to stay, for the reason `why`. */
static int undo_goal(const char *ipmctl, unsigned modules, const char *why, struct hm_error *error)
{
    struct hm_error left = {{0}};
    if (drop_goal(ipmctl, modules, &left) != 0)
        return fail_left(why, &left, error);
    hm_fail(error, EIO, "%s; no goal is left pending", why);
    return HM_MEMMODE_EXIT_REFUSED;
}

/* Create the goal. What does not come out whole is deleted again. */
static int create_goal(const char *ipmctl, unsigned modules, enum hm_memmode wanted, struct hm_error *error)
{
    struct hm_error why = {{0}};
    enum hm_ipmctl_command command = wanted == HM_MEMMODE_CACHE ? HM_IPMCTL_CREATE_CACHE : HM_IPMCTL_CREATE_FLAT;
    if (run_change(ipmctl, command, &why) == 0 && check_pending(ipmctl, modules, wanted, &why) == 0)
        return HM_MEMMODE_EXIT_DONE;
    return undo_goal(ipmctl, modules, why.text, error);
}

/* Have hybridmem-job remove what dead jobs have left. Whether it did is seen in the state after it. */
static int reap(const struct hm_config *config, struct hm_error *error)
{
    char locale[] = "LC_ALL=C", name[] = "hybridmem-job", word[] = "reap", wait[] = "--wait", option[] = "--config";
    char path[HM_CONFIG_PATH_MAX];
    char *environment[] = {locale, NULL}, *arguments[] = {name, word, wait, NULL, NULL, NULL};
    if (config->path[0]) {
        arguments[3] = option;
        arguments[4] = hm_text_copy(path, config->path, sizeof(path));
    }
    const struct hm_spawn spawn = {
        .path = JOB, .arguments = arguments, .environment = environment, .extra = -1, .errors = -1};
    pid_t pid = hm_spawn_start(&spawn, error);
    if (pid < 0)
        return -1;
    return hm_spawn_wait_for(pid, REAP_PATIENCE_MS) >= 0 ? 0 : hm_fail_errno(error, "'hybridmem reap' did not end");
}

/* Do the steps. Returns an exit status. */
static int take_steps(const char *ipmctl, const struct hm_memmode_steps *steps, unsigned modules,
                      enum hm_memmode wanted, struct hm_error *error)
{
    int status = HM_MEMMODE_EXIT_DONE;
    for (int i = 0; i < steps->n && status == HM_MEMMODE_EXIT_DONE; i++) {
        struct hm_error left = {{0}};
        if (steps->step[i] == HM_MEMMODE_STEP_CREATE)
            status = create_goal(ipmctl, modules, wanted, error);
        else if (drop_goal(ipmctl, modules, &left) != 0)
            status = fail_left("", &left, error);
    }
    return status;
}

/* Do the steps, and keep the note right. It is unsure while something changes, and where that leaves something behind.
 * `stays`: the mode `wanted` is pending afterwards. Returns an exit status. */
static int take_noted(const char *ipmctl, const struct hm_config *config, const struct hm_memmode_steps *steps,
                      unsigned modules, enum hm_memmode wanted, bool stays, struct hm_error *error)
{
    struct hm_error why = {{0}};
    const char *word = hm_memmode_word(wanted);
    if (steps->n > 0 && hm_asked_write(config, word, true, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    int status = take_steps(ipmctl, steps, modules, wanted, error);
    if (status == HM_MEMMODE_EXIT_DONE && stays) {
        if (hm_asked_write(config, word, false, &why) == 0)
            return status;
        status = undo_goal(ipmctl, modules, why.text, error);
    }
    /* A goal that could not be deleted ends namespaces, too. */
    if (status != HM_MEMMODE_EXIT_LEFT && hm_asked_remove(config, &why) != 0 && status == HM_MEMMODE_EXIT_DONE) {
        *error = why;
        return HM_MEMMODE_EXIT_REFUSED;
    }
    return status;
}

/* With the lock held: look, decide, and do it. `wants_reap` is set, and nothing is done, where a reap has to come
 * first. */
static int change_locked(const char *ipmctl, const struct hm_config *config, enum hm_memmode wanted, bool is_reaped,
                         bool *wants_reap, struct hm_error *error)
{
    struct hm_memmode_state state;
    struct hm_memmode_steps steps;
    *wants_reap = false;
    if (hm_memmode_read(ipmctl, &state, error) != 0 || hm_memmode_decide(&state, wanted, is_reaped, &steps, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    *wants_reap = steps.n > 0 && steps.step[0] == HM_MEMMODE_STEP_REAP;
    if (*wants_reap)
        return HM_MEMMODE_EXIT_DONE;
    bool stays =
        hm_memmode_used(&state.resources) != wanted || hm_memmode_pending(&state.goal, state.modules.n) == wanted;
    return take_noted(ipmctl, config, &steps, state.modules.n, wanted, stays, error);
}

int hm_memmode_change(const char *ipmctl, const struct hm_config *config, enum hm_memmode wanted,
                      struct hm_error *error)
{
    bool wants_reap = false;
    for (int round = 0; round < 2; round++) {
        if (wants_reap && reap(config, error) != 0)
            return HM_MEMMODE_EXIT_REFUSED;
        /* Nobody makes or removes a namespace meanwhile. A reap takes the lock itself. */
        int lock, held = hm_memmode_lock(config, &lock, error);
        if (held != HM_MEMMODE_EXIT_DONE)
            return held;
        int status = change_locked(ipmctl, config, wanted, round > 0, &wants_reap, error);
        hm_flock_close(lock);
        if (!wants_reap)
            return status;
    }
    hm_fail(error, EBUSY, "namespaces of jobs are left");
    return HM_MEMMODE_EXIT_REFUSED;
}
