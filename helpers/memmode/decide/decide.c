/* SPDX-License-Identifier: Apache-2.0 */
#include "decide.h"

#include <errno.h>
#include <inttypes.h>

#include "base/plural.h"
#include "base/size.h"

/* ipmctl makes regions of whole GiB (REGION_PERSISTENT_SIZE_ALIGNMENT_B in its source), and counts as App Direct what
 * is mapped: what alignment takes is "Inaccessible". So whatever misses less than this misses no region. */
#define LEAST_REGION (UINT64_C(1) << 30)

/* Does the configuration say what mixed is on this node? */
static int check_mixed(const struct hm_memmode_state *state, struct hm_error *error)
{
    if (state->by == HM_MEMMODE_BY_BIOS && !state->bios.has_mixed)
        return hm_fail(error, ENOTSUP,
                       "memmode=mixed: the board's section in hybridmem.conf has no value for it: add mixed");
    if (state->by == HM_MEMMODE_BY_GOALS && state->abilities.mixed_percent == 0)
        return hm_fail(error, ENOTSUP,
                       "memmode=mixed: hybridmem.conf does not say how much of the modules is memory then: set "
                       "memmode_mixed");
    return 0;
}

static int check_platform(const struct hm_memmode_state *state, enum hm_memmode wanted, struct hm_error *error)
{
    const struct hm_memmode_abilities *abilities = &state->abilities;
    if (wanted == HM_MEMMODE_MIXED && check_mixed(state, error) != 0)
        return -1;
    if (state->by == HM_MEMMODE_BY_BIOS) /* the board's service says what it takes when it is asked to */
        return 0;
    if (!abilities->configures)
        return hm_fail(
            error, ENOTSUP,
            "the firmware takes no goals from software (PlatformConfigSupported is not 1): allow that in the "
            "BIOS set-up");
    if (wanted != HM_MEMMODE_FLAT && !abilities->cache)
        return hm_fail(error, ENOTSUP,
                       "memmode=%s: the firmware does not allow Memory Mode (AllowedVolatileMode has no 2LM): "
                       "that capacity would be inaccessible; allow 2LM in the BIOS set-up",
                       hm_memmode_word(wanted));
    if (wanted != HM_MEMMODE_CACHE && !abilities->app_direct)
        return hm_fail(error, ENOTSUP,
                       "memmode=%s: the firmware does not allow App Direct (AllowedAppDirectMode): "
                       "allow it in the BIOS set-up",
                       hm_memmode_word(wanted));
    if (state->modules.ill[0])
        return hm_fail(error, EIO, "%s: replace it, or see what 'ipmctl show -a -dimm' says of it", state->modules.ill);
    return 0;
}

/* Regions that the kernel does not show may have namespaces, too. */
static int check_all_is_seen(const struct hm_memmode_state *state, struct hm_error *error)
{
    uint64_t app_direct = state->resources.app_direct, seen = state->spaces.region_bytes;
    char size[24], seen_size[24];
    if (state->spaces.hidden[0])
        return hm_fail(error, EBUSY, "%s: its namespaces cannot be seen, and may hold data", state->spaces.hidden);
    if (app_direct >= LEAST_REGION && seen <= app_direct - LEAST_REGION)
        return hm_fail(error, EBUSY,
                       "the modules have %s of App Direct, the kernel shows regions of %s: the rest may hold data (is "
                       "the kernel module nfit loaded?)",
                       hm_size_format(app_direct, size, sizeof(size)),
                       hm_size_format(seen, seen_size, sizeof(seen_size)));
    return 0;
}

/* A new goal ends all namespaces, so none may be left that anybody counts on. */
static int check_data(const struct hm_memmode_spaces *spaces, bool is_reaped, struct hm_error *error)
{
    if (spaces->n_others > 0)
        return hm_fail(error, EBUSY,
                       "%u of the namespaces %s not hybridmem's, the first is %s: save what is in it, and remove it "
                       "with ndctl destroy-namespace",
                       spaces->n_others, hm_plural(spaces->n_others, "is", "are"), spaces->other);
    if (spaces->n_kept > 0)
        return hm_fail(error, EBUSY,
                       "%u of the namespaces %s kept by users, the first is %s: it stays until fsdax_keep_age is over, "
                       "or until 'hybridmem namespace destroy --uid UID'",
                       spaces->n_kept, hm_plural(spaces->n_kept, "is", "are"), spaces->kept);
    if (spaces->n_jobs > 0 && is_reaped)
        return hm_fail(error, EBUSY,
                       "%u of the namespaces %s of jobs, the first is %s: wait for the job's end, or see what "
                       "'hybridmem reap' says of it",
                       spaces->n_jobs, hm_plural(spaces->n_jobs, "is", "are"), spaces->job);
    return 0;
}

/* Each change costs a boot. A goal that somebody has set already is not held up. */
static int check_time(const struct hm_memmode_state *state, enum hm_memmode wanted, struct hm_error *error)
{
    enum hm_memmode used = hm_memmode_used(state);
    if (used == HM_MEMMODE_NONE || hm_memmode_pending(state) == wanted || state->up_s >= state->least_s)
        return 0;
    return hm_fail(error, EBUSY,
                   "the node keeps memmode=%s for %" PRIu64 " s after a boot (memmode_least), and was booted %" PRIu64
                   " s ago",
                   hm_memmode_word(used), state->least_s, state->up_s);
}

static void add(struct hm_memmode_steps *steps, enum hm_memmode_step step)
{
    steps->step[steps->n++] = step;
}

int hm_memmode_loses_nothing(const struct hm_memmode_state *state, bool is_reaped, struct hm_error *error)
{
    return check_all_is_seen(state, error) == 0 ? check_data(&state->spaces, is_reaped, error) : -1;
}

const char *hm_memmode_only_for_now(const struct hm_memmode_state *state, enum hm_memmode wanted)
{
    if (hm_memmode_used(state) == wanted || check_platform(state, wanted, NULL) != 0)
        return NULL;
    if (state->is_busy) /* whoever is at work may have disabled a region for a moment */
        return "namespaces there are made or wiped";
    if (check_all_is_seen(state, NULL) != 0)
        return NULL;
    if (check_time(state, wanted, NULL) != 0)
        return "it was booted too short a time ago";
    /* Namespaces of dead jobs were removed before. */
    return check_data(&state->spaces, true, NULL) != 0 ? "namespaces there hold data" : NULL;
}

int hm_memmode_decide(const struct hm_memmode_state *state, enum hm_memmode wanted, bool is_reaped,
                      struct hm_memmode_steps *steps, struct hm_error *error)
{
    enum hm_memmode pending = hm_memmode_pending(state);
    bool is_there = hm_memmode_used(state) == wanted;
    steps->n = 0;
    if (state->by == HM_MEMMODE_BY_GOALS && (state->resources.physical == 0 || state->modules.n == 0))
        return hm_fail(error, ENODEV, "this node has no persistent memory modules");
    if (is_there) {
        if (pending != HM_MEMMODE_NONE && pending != wanted)
            add(steps, HM_MEMMODE_STEP_DROP);
        return 0;
    }
    /* The data counts also where the goal is pending: it may have come since. */
    if (check_platform(state, wanted, error) != 0 || check_all_is_seen(state, error) != 0 ||
        check_time(state, wanted, error) != 0 || check_data(&state->spaces, is_reaped, error) != 0)
        return -1;
    if (state->spaces.n_jobs > 0) {
        add(steps, HM_MEMMODE_STEP_REAP);
    } else if (pending != wanted) {
        if (pending != HM_MEMMODE_NONE)
            add(steps, HM_MEMMODE_STEP_DROP);
        add(steps, HM_MEMMODE_STEP_CREATE);
    }
    return 0;
}
