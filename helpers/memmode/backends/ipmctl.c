/* SPDX-License-Identifier: Apache-2.0 */
/* Optane's Memory Mode, by ipmctl: goals of the modules, which the firmware applies at the next boot. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "backend.h"
#include "memmode/ipmctl/answers.h"
#include "memmode/ipmctl/ipmctl.h"

/* ipmctl takes whole percents. Less than one is not none. */
static unsigned mixed_percent(const struct hm_hardware *hardware)
{
    double percent = hardware->config->memmode_mixed_percent;
    return percent > 0 && percent < 1 ? 1 : (unsigned)(percent + 0.5);
}

/* Run a command of ipmctl, and have `take` read its answer into `into`. Returns 0, or -1 with a text that names the
 * command. */
static int ask(const struct hm_hardware *hardware, enum hm_ipmctl_command command,
               int (*take)(const struct hm_nvmxml *answer, void *into, struct hm_error *error), void *into,
               struct hm_error *error)
{
    struct hm_error why = {{0}};
    struct hm_nvmxml *answer = malloc(sizeof(*answer));
    if (!answer)
        return hm_fail(error, ENOMEM, "no memory for the answer of ipmctl");
    int result = hm_ipmctl_run(hardware->ipmctl, command, mixed_percent(hardware), answer, error);
    if (result == 0 && take(answer, into, &why) != 0)
        result = hm_fail(error, errno, "%s: %s", hm_ipmctl_name(command), why.text);
    int number = errno;
    free(answer);
    errno = number;
    return result;
}

static int take_resources(const struct hm_nvmxml *answer, void *into, struct hm_error *error)
{
    return hm_answers_resources(answer, into, error);
}

static int take_goal(const struct hm_nvmxml *answer, void *into, struct hm_error *error)
{
    return hm_answers_goal(answer, into, error);
}

static int take_abilities(const struct hm_nvmxml *answer, void *into, struct hm_error *error)
{
    return hm_answers_abilities(answer, into, error);
}

static int take_modules(const struct hm_nvmxml *answer, void *into, struct hm_error *error)
{
    return hm_answers_modules(answer, into, error);
}

static int take_change(const struct hm_nvmxml *answer, void *into, struct hm_error *error)
{
    (void)into;
    return hm_answers_change(answer, error);
}

static int read_now(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error)
{
    return ask(hardware, HM_IPMCTL_RESOURCES, take_resources, &state->resources, error);
}

static int read_pending(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error)
{
    return ask(hardware, HM_IPMCTL_GOAL, take_goal, &state->goal, error);
}

static int read_all(const struct hm_hardware *hardware, struct hm_memmode_state *state, struct hm_error *error)
{
    if (read_now(hardware, state, error) != 0 ||
        ask(hardware, HM_IPMCTL_MODULES, take_modules, &state->modules, error) != 0 ||
        ask(hardware, HM_IPMCTL_ABILITIES, take_abilities, &state->abilities, error) != 0)
        return -1;
    state->abilities.mixed_percent = mixed_percent(hardware);
    return read_pending(hardware, state, error);
}

static int set(const struct hm_hardware *hardware, enum hm_memmode mode, struct hm_error *error)
{
    static const enum hm_ipmctl_command commands[] = {[HM_MEMMODE_FLAT] = HM_IPMCTL_CREATE_FLAT,
                                                      [HM_MEMMODE_CACHE] = HM_IPMCTL_CREATE_CACHE,
                                                      [HM_MEMMODE_MIXED] = HM_IPMCTL_CREATE_MIXED};
    return ask(hardware, commands[mode], take_change, NULL, error);
}

/* ipmctl reports an error for each module that has no goal. */
static int undo(const struct hm_hardware *hardware, struct hm_error *error)
{
    return ask(hardware, HM_IPMCTL_DELETE, take_change, NULL, error);
}

static bool is_away(const struct hm_hardware *hardware)
{
    return access(hardware->ipmctl, F_OK) != 0 && errno == ENOENT;
}

const struct hm_backend hm_backend_ipmctl = {
    .by = HM_MEMMODE_BY_GOALS,
    .read_now = read_now,
    .read_pending = read_pending,
    .read = read_all,
    .set = set,
    .undo = undo,
    .is_away = is_away,
};
