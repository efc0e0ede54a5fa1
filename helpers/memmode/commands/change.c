/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out what was decided: removes what dead jobs have left, deletes a goal, creates one, and reads each back.
 * Notes what was asked for: until the boot no namespace is made, and after it the check looks whether it has come. */
#include <config.h>

#include <errno.h>

#include "base/files.h"
#include "base/flock.h"
#include "base/process.h"
#include "base/spawn.h"
#include "namespace/pmem/asked.h"
#include "parts.h"

#define JOB HM_PKGLIBEXECDIR "/hybridmem-job"
#define REAP_PATIENCE_MS 180000 /* it wipes what it removes, and goes on where this is too short */

/* Read back what is pending. Returns 0 where it is `wanted`, or -1 with a text. */
static int check_pending(const struct hm_hardware *hardware, const struct hm_memmode_state *before,
                         enum hm_memmode wanted, struct hm_error *error)
{
    struct hm_memmode_state state = *before;
    if (hm_memmode_read_pending(hardware, &state, error) != 0)
        return -1;
    return hm_memmode_check_pending(&state, wanted, error);
}

/* Take back what is pending. Only what is read back counts. */
static int drop_goal(const struct hm_hardware *hardware, const struct hm_memmode_state *before, struct hm_error *error)
{
    struct hm_error said = {{0}}, back = {{0}};
    int changed = hardware->backend->undo(hardware, &said);
    if (check_pending(hardware, before, HM_MEMMODE_NONE, &back) == 0)
        return 0;
    return hm_fail(error, EIO, "%s%s%s", changed != 0 ? said.text : "", changed != 0 ? "; " : "", back.text);
}

static int fail_left(const struct hm_hardware *hardware, const char *why, const struct hm_error *left,
                     struct hm_error *error)
{
    hm_fail(error, EIO, "%s%s%s: %s, or the next boot may change the node", why, why[0] ? "; " : "", left->text,
            hm_memmode_way_back(hardware->backend->by));
    return HM_MEMMODE_EXIT_LEFT;
}

/* Delete a goal that is not to stay, for the reason `why`. */
static int undo_goal(const struct hm_hardware *hardware, const struct hm_memmode_state *before, const char *why,
                     struct hm_error *error)
{
    struct hm_error left = {{0}};
    if (drop_goal(hardware, before, &left) != 0)
        return fail_left(hardware, why, &left, error);
    hm_fail(error, EIO, "%s; no goal is left pending", why);
    return HM_MEMMODE_EXIT_REFUSED;
}

/* Create the goal. What does not come out whole is deleted again. */
static int create_goal(const struct hm_hardware *hardware, const struct hm_memmode_state *before,
                       enum hm_memmode wanted, struct hm_error *error)
{
    struct hm_error why = {{0}};
    if (hardware->backend->set(hardware, wanted, &why) == 0 && check_pending(hardware, before, wanted, &why) == 0)
        return HM_MEMMODE_EXIT_DONE;
    return undo_goal(hardware, before, why.text, error);
}

/* Have hybridmem-job remove what dead jobs have left. Whether it did is seen in the state after it. Returns -1 with
 * EBUSY where it goes on. */
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
    struct hm_process process;
    if (hm_process_identify(pid, &process) != 0 || !hm_process_wait(&process, REAP_PATIENCE_MS))
        return hm_fail(error, EBUSY, "'hybridmem reap' still wipes what dead jobs have left after %d s, and goes on",
                       REAP_PATIENCE_MS / 1000);
    (void)hm_spawn_wait(pid);
    return 0;
}

/* The lock is another's: look without it, so that slurmctld can be told why nothing is changed. */
static void look_beside(const struct hm_hardware *hardware, struct hm_memmode_state *state)
{
    if (hm_memmode_read(hardware, state, NULL) == 0)
        state->is_busy = true;
    else
        *state = (struct hm_memmode_state){0};
}

/* Do the steps. Returns an exit status. */
static int take_steps(const struct hm_hardware *hardware, const struct hm_memmode_state *before,
                      const struct hm_memmode_steps *steps, enum hm_memmode wanted, struct hm_error *error)
{
    int status = HM_MEMMODE_EXIT_DONE;
    for (int i = 0; i < steps->n && status == HM_MEMMODE_EXIT_DONE; i++) {
        struct hm_error left = {{0}};
        if (steps->step[i] == HM_MEMMODE_STEP_CREATE)
            status = create_goal(hardware, before, wanted, error);
        else if (drop_goal(hardware, before, &left) != 0)
            status = fail_left(hardware, "", &left, error);
    }
    return status;
}

/* Do the steps, and keep the note right. It is unsure while something changes, and where that leaves something behind.
 * `stays`: the mode `wanted` is pending afterwards. Returns an exit status. */
static int take_noted(const struct hm_hardware *hardware, const struct hm_config *config,
                      const struct hm_memmode_state *before, const struct hm_memmode_steps *steps,
                      enum hm_memmode wanted, bool stays, struct hm_error *error)
{
    struct hm_error why = {{0}};
    const char *word = hm_memmode_word(wanted);
    if (steps->n > 0 && hm_asked_write(config, word, true, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    int status = take_steps(hardware, before, steps, wanted, error);
    if (status == HM_MEMMODE_EXIT_DONE && stays) {
        if (hm_asked_write(config, word, false, &why) == 0)
            return status;
        status = undo_goal(hardware, before, why.text, error);
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
static int change_locked(const struct hm_hardware *hardware, const struct hm_config *config, enum hm_memmode wanted,
                         bool is_reaped, bool *wants_reap, struct hm_memmode_state *state, struct hm_error *error)
{
    struct hm_memmode_steps steps;
    *wants_reap = false;
    if (hm_memmode_read(hardware, state, error) != 0) {
        *state = (struct hm_memmode_state){0};
        return HM_MEMMODE_EXIT_REFUSED;
    }
    if (hm_memmode_decide(state, wanted, is_reaped, &steps, error) != 0)
        return HM_MEMMODE_EXIT_REFUSED;
    *wants_reap = steps.n > 0 && steps.step[0] == HM_MEMMODE_STEP_REAP;
    if (*wants_reap)
        return HM_MEMMODE_EXIT_DONE;
    bool stays = hm_memmode_used(state) != wanted || hm_memmode_pending(state) == wanted;
    return take_noted(hardware, config, state, &steps, wanted, stays, error);
}

int hm_memmode_change(const struct hm_hardware *hardware, const struct hm_config *config, enum hm_memmode wanted,
                      struct hm_memmode_state *state, struct hm_error *error)
{
    bool wants_reap = false;
    *state = (struct hm_memmode_state){0};
    for (int round = 0; round < 2; round++) {
        if (wants_reap && reap(config, error) != 0) {
            state->is_busy = errno == EBUSY;
            return HM_MEMMODE_EXIT_REFUSED;
        }
        /* Nobody makes or removes a namespace meanwhile. A reap takes the lock itself. */
        int lock, held = hm_memmode_lock(config, &lock, error);
        if (held == HM_MEMMODE_EXIT_BUSY)
            look_beside(hardware, state);
        if (held != HM_MEMMODE_EXIT_DONE)
            return held;
        int status = change_locked(hardware, config, wanted, round > 0, &wants_reap, state, error);
        hm_flock_close(lock);
        if (!wants_reap)
            return status;
    }
    hm_fail(error, EBUSY, "namespaces of jobs are left");
    return HM_MEMMODE_EXIT_REFUSED;
}
