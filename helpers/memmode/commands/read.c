/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the state of the node: what ipmctl says of the modules, and the kernel of the namespaces. */
#include <errno.h>
#include <stdlib.h>

#include "parts.h"
#include "spaces.h"

int hm_memmode_ask(const char *ipmctl, enum hm_ipmctl_command command,
                   int (*take)(const struct hm_nvmxml *answer, void *into, struct hm_error *error), void *into,
                   struct hm_error *error)
{
    struct hm_error why = {{0}};
    struct hm_nvmxml *answer = malloc(sizeof(*answer));
    if (!answer)
        return hm_fail(error, ENOMEM, "no memory for the answer of ipmctl");
    int result = hm_ipmctl_run(ipmctl, command, answer, error);
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

int hm_memmode_read_resources(const char *ipmctl, struct hm_memmode_resources *resources, struct hm_error *error)
{
    return hm_memmode_ask(ipmctl, HM_IPMCTL_RESOURCES, take_resources, resources, error);
}

int hm_memmode_read_goal(const char *ipmctl, struct hm_memmode_goal *goal, struct hm_error *error)
{
    return hm_memmode_ask(ipmctl, HM_IPMCTL_GOAL, take_goal, goal, error);
}

int hm_memmode_read(const char *ipmctl, struct hm_memmode_state *state, struct hm_error *error)
{
    *state = (struct hm_memmode_state){0};
    if (hm_memmode_read_resources(ipmctl, &state->resources, error) != 0 ||
        hm_memmode_ask(ipmctl, HM_IPMCTL_MODULES, take_modules, &state->modules, error) != 0 ||
        hm_memmode_ask(ipmctl, HM_IPMCTL_ABILITIES, take_abilities, &state->abilities, error) != 0 ||
        hm_memmode_read_goal(ipmctl, &state->goal, error) != 0)
        return -1;
    return hm_spaces_read(&state->spaces, error);
}
