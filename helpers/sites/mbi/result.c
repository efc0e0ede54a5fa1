/* SPDX-License-Identifier: Apache-2.0 */
#include "result.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/draw/figures.h"
#include "sites/profile/take.h"

/* Copies a line into `out`; null is "". */
static void take_line(struct hm_taker *taker, const json_t *from, const char *key, char *out, size_t size)
{
    char *text = hm_take_line(taker, from, key, true);
    snprintf(out, size, "%s", text ? text : "");
    free(text);
}

static void check(struct hm_taker *taker, const struct hm_mbi_result *result)
{
    int64_t seconds;
    bool has_failed = result->reason[0] != '\0', has_figures = !isnan(result->read_bytes + result->write_bytes);
    if (has_figures == has_failed)
        hm_take_fail(taker, "reason", "a text where a figure is null, else null");
    if (has_figures && !result->source[0])
        hm_take_fail(taker, "source", "a text where there are figures");
    if (hm_moment_parse(result->start, &seconds) < 0)
        hm_take_fail(taker, "start", "a moment as 2026-11-28T20:00:00Z");
}

int hm_mbi_result_parse(const char *path, const char *text, size_t length, struct hm_mbi_result *result,
                        struct hm_error *error)
{
    struct hm_taker taker = {.path = path, .error = error};
    json_t *all = hm_take_all(&taker, text, length, "result");
    *result = (struct hm_mbi_result){.reason = ""};
    if (!all)
        return -1;
    hm_take_count(&taker, all, "schema", 1, 1);
    take_line(&taker, all, "reason", result->reason, sizeof(result->reason));
    take_line(&taker, all, "node", result->node, sizeof(result->node));
    take_line(&taker, all, "source", result->source, sizeof(result->source));
    take_line(&taker, all, "start", result->start, sizeof(result->start));
    result->elapsed_s = hm_take_real(&taker, all, "elapsed_s");
    result->read_bytes = hm_take_real_or_null(&taker, all, "read_bytes");
    result->write_bytes = hm_take_real_or_null(&taker, all, "write_bytes");
    if (!taker.has_failed)
        check(&taker, result);
    json_decref(all);
    return taker.has_failed ? -1 : 0;
}

static json_t *text_or_null(const char *text)
{
    return *text ? json_string(text) : json_null();
}

json_t *hm_mbi_result_json(const struct hm_mbi_result *result)
{
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema", 1, "reason", text_or_null(result->reason),
                     "node", text_or_null(result->node), "source", text_or_null(result->source), "start",
                     text_or_null(result->start), "elapsed_s", hm_figures_real(result->elapsed_s), "read_bytes",
                     hm_figures_real(result->read_bytes), "write_bytes", hm_figures_real(result->write_bytes));
}
