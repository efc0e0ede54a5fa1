/* SPDX-License-Identifier: Apache-2.0 */
/* The plan's file, JSON. It may have been changed meanwhile: every figure is checked before it is believed. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/hybridmem.h"
#include "cli/draw/figures.h"
#include "plan.h"
#include "sites/guide/table.h"
#include "sites/profile/take.h"

#define ID 17 /* bytes of an id's text, with its end */

static void take_words(struct hm_taker *taker, const json_t *from, struct hm_mbi_plan *plan)
{
    const json_t *words = json_object_get(from, "words");
    size_t n = json_array_size(words);
    if (n == 0 || n > HM_MBI_WORDS) {
        hm_take_fail(taker, "words", "an array of 1 to 4096 texts");
        return;
    }
    plan->word = calloc(n + 1, sizeof(*plan->word));
    if (!plan->word) {
        hm_take_fail_memory(taker);
        return;
    }
    for (; plan->n_words < n && !taker->has_failed; plan->n_words++) {
        const char *text = json_string_value(json_array_get(words, plan->n_words));
        plan->word[plan->n_words] = text ? strdup(text) : NULL;
        if (!text || (plan->n_words == 0 && !*text))
            hm_take_fail(taker, "words", "an array of 1 to 4096 texts, the first the program");
        else if (!plan->word[plan->n_words])
            hm_take_fail_memory(taker);
    }
}

/* Returns 0, or -1: it is no id. */
static int take_id(const json_t *value, uint64_t *id)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) != ID - 1 || !hm_take_is_hexadecimal(text))
        return -1;
    *id = strtoull(text, NULL, 16);
    return 0;
}

static void take_group(struct hm_taker *taker, const json_t *from, struct hm_mbi_group *group)
{
    size_t n = json_array_size(from);
    uint64_t id;
    group->id = n > 0 && n <= HM_GUIDE_SITES ? calloc(n, sizeof(*group->id)) : NULL;
    if (n == 0 || n > HM_GUIDE_SITES)
        hm_take_fail(taker, "groups", "arrays of ids");
    else if (!group->id)
        hm_take_fail_memory(taker);
    for (size_t i = 0; i < n && !taker->has_failed; i++) {
        if (take_id(json_array_get(from, i), &id) < 0 || (i > 0 && id <= group->id[i - 1]))
            hm_take_fail(taker, "groups", "arrays of ids, ascending");
        else
            group->id[group->n++] = id;
    }
}

static int by_id(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

/* A site is in one group, and all have room in the table of a guided program. */
static void check_groups(struct hm_taker *taker, const struct hm_mbi_plan *plan)
{
    static uint64_t id[HM_GUIDE_SITES];
    size_t n = 0;
    for (size_t i = 0; i < plan->n_groups; i++) {
        if (plan->group[i].n > HM_GUIDE_SITES - n) {
            hm_take_fail(taker, "groups", "of at most 4096 ids together");
            return;
        }
        memcpy(id + n, plan->group[i].id, plan->group[i].n * sizeof(*id));
        n += plan->group[i].n;
    }
    qsort(id, n, sizeof(*id), by_id);
    for (size_t i = 1; i < n; i++)
        if (id[i] == id[i - 1])
            hm_take_fail(taker, "groups", "without an id that stands twice");
}

static void take_groups(struct hm_taker *taker, const json_t *from, struct hm_mbi_plan *plan)
{
    const json_t *groups = json_object_get(from, "groups");
    size_t most = HM_MBI_RUNS / plan->repetitions - HM_MBI_GROUP;
    plan->group = hm_take_array(taker, from, "groups", most, sizeof(*plan->group), &plan->n_groups);
    if (plan->n_groups == 0)
        hm_take_fail(taker, "groups", "an array with a group");
    for (size_t i = 0; i < plan->n_groups && !taker->has_failed; i++)
        take_group(taker, json_array_get(groups, i), &plan->group[i]);
    if (!taker->has_failed)
        check_groups(taker, plan);
}

int hm_mbi_plan_parse(const char *path, const char *text, size_t length, struct hm_mbi_plan *plan,
                      struct hm_error *error)
{
    struct hm_taker taker = {.path = path, .error = error};
    json_t *all = hm_take_all(&taker, text, length, "plan");
    *plan = (struct hm_mbi_plan){.folder = NULL};
    if (!all)
        return -1;
    hm_take_count(&taker, all, "schema", 1, 1);
    plan->folder = hm_take_text(&taker, all, "folder", false);
    take_words(&taker, all, plan);
    plan->build_id = hm_take_build_id(&taker, all);
    plan->repetitions = (unsigned)hm_take_count(&taker, all, "repetitions", 1, HM_MBI_REPETITIONS);
    plan->least_bytes = json_object_get(all, "least_bytes") ? /* plans of before had no such key */
                            (uint64_t)hm_take_count(&taker, all, "least_bytes", 1, HM_ALLOC_LEAST)
                                                            : HM_ALLOC_LEAST;
    if (!taker.has_failed)
        take_groups(&taker, all, plan);
    json_decref(all);
    if (!taker.has_failed)
        return 0;
    int number = errno;
    hm_mbi_plan_free(plan);
    errno = number;
    return -1;
}

static json_t *group_json(const struct hm_mbi_group *group)
{
    json_t *ids = json_array();
    for (size_t i = 0; i < group->n; i++) {
        char text[ID];
        snprintf(text, sizeof(text), "%016" PRIx64, group->id[i]);
        json_array_append_new(ids, json_string(text));
    }
    return hm_figures_whole(ids, group->n);
}

json_t *hm_mbi_plan_json(const struct hm_mbi_plan *plan)
{
    json_t *words = json_array(), *groups = json_array();
    for (size_t i = 0; i < plan->n_words; i++)
        json_array_append_new(words, json_string(plan->word[i]));
    for (size_t i = 0; i < plan->n_groups; i++)
        json_array_append_new(groups, group_json(&plan->group[i]));
    return json_pack("{s:i, s:s, s:o, s:o, s:i, s:I, s:o}", "schema", 1, "folder", plan->folder, "words",
                     hm_figures_whole(words, plan->n_words), "build_id",
                     plan->build_id ? json_string(plan->build_id) : json_null(), "repetitions", (int)plan->repetitions,
                     "least_bytes", (json_int_t)plan->least_bytes, "groups", hm_figures_whole(groups, plan->n_groups));
}
