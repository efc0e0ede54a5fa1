/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the readers of ipmctl's answers; the first byte says whether the input begins with the XML's first line. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "memmode/ipmctl/answers.h"

#define FIRST_LINE "<?xml version=\"1.0\"?>\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct hm_nvmxml answer;

static bool is_in_texts(const char *text)
{
    return text >= answer.texts && text < answer.texts + sizeof(answer.texts) &&
           memchr(text, '\0', (size_t)(answer.texts + sizeof(answer.texts) - text));
}

/* Fields are in the order of their rows, and have names; all is in the answer's own texts. */
static void check_fields(void)
{
    if (!is_in_texts(answer.list) || !answer.list[0])
        abort();
    for (size_t i = 0; i < answer.n_fields; i++) {
        const struct hm_nvmxml_field *field = &answer.field[i];
        if (!is_in_texts(field->name) || !field->name[0] || !is_in_texts(field->value) ||
            (i > 0 && field->row < answer.field[i - 1].row) || field->row >= hm_nvmxml_rows(&answer))
            abort();
    }
}

/* What is believed was said: each module of a goal has a row, and a change that succeeded reports no error. */
static void check_meaning(void)
{
    struct hm_memmode_state found;
    struct hm_error error = {""};
    if (hm_answers_goal(&answer, &found.goal, &error) == 0) {
        const struct hm_memmode_goal *goal = &found.goal;
        unsigned n = goal->n_flat + goal->n_cache + goal->n_mixed + goal->n_empty;
        if (strcmp(answer.list, "ConfigGoalList") == 0 ? n != hm_nvmxml_rows(&answer) : n != 0)
            abort();
    } else if (!error.text[0]) {
        abort();
    }
    if (hm_answers_change(&answer, NULL) == 0 && strcmp(answer.list, "ConfigGoalList") != 0) {
        if (strcmp(answer.list, "Results") != 0)
            abort();
        for (size_t i = 0; i < answer.n_fields; i++)
            if (strstr(answer.field[i].value, "Error "))
                abort();
    }
    if (hm_answers_resources(&answer, &found.resources, NULL) == 0 && strcmp(answer.list, "MemoryResources") != 0)
        abort();
    if (hm_answers_abilities(&answer, &found.abilities, NULL) == 0 && strcmp(answer.list, "SystemCapabilities") != 0)
        abort();
    if (hm_answers_modules(&answer, &found.modules, NULL) == 0 && found.modules.n != hm_nvmxml_rows(&answer))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_error error = {""};
    if (size < 2)
        return 0;
    size_t before = data[0] % 2 ? strlen(FIRST_LINE) : 0, length = before + size - 1;
    char *text = malloc(length);
    if (!text)
        return 0;
    memcpy(text, FIRST_LINE, before);
    memcpy(text + before, data + 1, size - 1);
    if (hm_nvmxml_parse(text, length, &answer, &error) == 0) {
        check_fields();
        check_meaning();
    } else if (!error.text[0]) {
        abort();
    }
    free(text);
    return 0;
}
