/* SPDX-License-Identifier: Apache-2.0 */
#include "answers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FAILED "Error "
#define SUCCEEDED ": Success"
#define NO_GOAL "There are no goal configs defined in the system"

static bool is_list(const struct hm_nvmxml *answer, const char *name)
{
    return strcmp(answer->list, name) == 0;
}

/* Find the first line of `text` that has the words `sought` in it, or, with NULL, that is not empty. Returns its
 * length, and `line` where it begins; 0: there is none. */
static int find_line(const char *text, const char *sought, const char **line)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        size_t length = strcspn(text, "\n");
        const char *found = sought ? strstr(text, sought) : text;
        if (length > 0 && found && found < text + length) {
            *line = text;
            return (int)length;
        }
    }
    return 0;
}

/* The answer is another than the list that was asked for. Quote what ipmctl says instead. */
static int fail_other(const struct hm_nvmxml *answer, const char *wanted, struct hm_error *error)
{
    bool is_text = is_list(answer, "Error") || is_list(answer, "Results");
    const char *value = hm_nvmxml_get(answer, HM_NVMXML_ANY_ROW, is_list(answer, "Error") ? "Error" : "Result");
    const char *line = "";
    int length = is_text && value ? find_line(value, NULL, &line) : 0;
    if (length > 0)
        return hm_fail(error, EIO, "%.*s", length, line);
    return hm_fail(error, EBADMSG, "it answered with a %s, not with a %s", answer->list, wanted);
}

static int fail_field(const char *name, const char *value, const char *right, struct hm_error *error)
{
    return value ? hm_fail(error, EBADMSG, "%s is \"%.64s\", not %s", name, value, right)
                 : hm_fail(error, EBADMSG, "it answered without %s", name);
}

static int get_bytes(const struct hm_nvmxml *answer, unsigned row, const char *name, uint64_t *bytes,
                     struct hm_error *error)
{
    const char *value = hm_nvmxml_get(answer, row, name);
    if (value && hm_nvmxml_bytes(value, bytes) == 0)
        return 0;
    return fail_field(name, value, "a number of bytes as in \"0 B\"", error);
}

int hm_answers_resources(const struct hm_nvmxml *answer, struct hm_memmode_resources *resources, struct hm_error *error)
{
    const struct {
        const char *type, *column;
        uint64_t *bytes;
    } wanted[] = {
        {"Cache", "DDR", &resources->dram_cache},
        {"Volatile", "PMemModule", &resources->memory},
        {"AppDirect", "PMemModule", &resources->app_direct},
        {"Inaccessible", "PMemModule", &resources->inaccessible},
        {"Physical", "PMemModule", &resources->physical},
    };
    if (!is_list(answer, "MemoryResources"))
        return fail_other(answer, "MemoryResources", error);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        unsigned row = 0, rows = hm_nvmxml_rows(answer);
        const char *type;
        while (row < rows && (!(type = hm_nvmxml_get(answer, row, "MemoryType")) || strcmp(type, wanted[i].type) != 0))
            row++;
        if (row == rows)
            return hm_fail(error, EBADMSG, "it answered without the memory type %s", wanted[i].type);
        if (get_bytes(answer, row, wanted[i].column, wanted[i].bytes, error) != 0)
            return -1;
    }
    return 0;
}

int hm_answers_goal(const struct hm_nvmxml *answer, struct hm_memmode_goal *goal, struct hm_error *error)
{
    const char *said = hm_nvmxml_get(answer, HM_NVMXML_ANY_ROW, "Result"), *line = "";
    *goal = (struct hm_memmode_goal){0};
    if (is_list(answer, "Results") && said && find_line(said, NO_GOAL, &line) > 0)
        return 0;
    if (!is_list(answer, "ConfigGoalList"))
        return fail_other(answer, "ConfigGoalList", error);
    for (unsigned row = 0; row < hm_nvmxml_rows(answer); row++) {
        uint64_t memory, first, second;
        if (get_bytes(answer, row, "MemorySize", &memory, error) != 0 ||
            get_bytes(answer, row, "AppDirect1Size", &first, error) != 0 ||
            get_bytes(answer, row, "AppDirect2Size", &second, error) != 0)
            return -1;
        bool is_app_direct = first > 0 || second > 0;
        goal->n_cache += memory > 0 && !is_app_direct;
        goal->n_flat += memory == 0 && is_app_direct;
        goal->n_mixed += memory > 0 && is_app_direct;
        goal->n_empty += memory == 0 && !is_app_direct;
    }
    return 0;
}

int hm_answers_abilities(const struct hm_nvmxml *answer, struct hm_memmode_abilities *abilities, struct hm_error *error)
{
    static const char *const names[] = {"PlatformConfigSupported", "AllowedVolatileMode", "AllowedAppDirectMode"};
    const char *value[3];
    if (!is_list(answer, "SystemCapabilities"))
        return fail_other(answer, "SystemCapabilities", error);
    for (int i = 0; i < 3; i++) {
        value[i] = hm_nvmxml_get(answer, HM_NVMXML_ANY_ROW, names[i]);
        if (!value[i])
            return fail_field(names[i], NULL, NULL, error);
    }
    abilities->configures = strcmp(value[0], "1") == 0;
    abilities->cache = strstr(value[1], "2LM") != NULL;
    abilities->app_direct = strstr(value[2], "App Direct") != NULL;
    return 0;
}

int hm_answers_modules(const struct hm_nvmxml *answer, struct hm_memmode_modules *modules, struct hm_error *error)
{
    *modules = (struct hm_memmode_modules){0};
    if (!is_list(answer, "DimmList"))
        return fail_other(answer, "DimmList", error);
    modules->n = hm_nvmxml_rows(answer);
    for (unsigned row = 0; row < modules->n; row++) {
        const char *id = hm_nvmxml_get(answer, row, "DimmID"), *health = hm_nvmxml_get(answer, row, "HealthState");
        if (!id || !health)
            return fail_field(id ? "HealthState" : "DimmID", NULL, NULL, error);
        /* "Noncritical failure" is a warning: the module still takes goals. */
        if (!modules->ill[0] && strcmp(health, "Healthy") != 0 && strcmp(health, "Noncritical failure") != 0)
            snprintf(modules->ill, sizeof(modules->ill), "PMem module %.16s has the health state \"%.32s\"", id,
                     health);
    }
    return 0;
}

int hm_answers_change(const struct hm_nvmxml *answer, struct hm_error *error)
{
    const char *line = "";
    bool has_succeeded = false;
    /* A creation without errors is answered with the goals, as "show -goal" has them. */
    if (is_list(answer, "ConfigGoalList"))
        return 0;
    if (!is_list(answer, "Results"))
        return fail_other(answer, "list of results", error);
    for (size_t i = 0; i < answer->n_fields; i++) {
        const char *value = answer->field[i].value;
        int length = find_line(value, FAILED, &line);
        if (length > 0)
            return hm_fail(error, EIO, "%.*s", length, line);
        has_succeeded = has_succeeded || find_line(value, SUCCEEDED, &line) > 0;
    }
    return has_succeeded ? 0 : fail_other(answer, "success", error);
}
