/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the readers of a plan by bandwidth isolation and of the result of a run: any text, or a valid one with
 * changes. What is accepted is written as JSON, which is accepted again and is the same; a plan has at most as many
 * runs as a job array, and its sites fit the table of a guided program; a result has figures or a reason in one line.
 */
#include <math.h>
#include <stdlib.h>

#include "jsonline.h"
#include "patch.h"
#include "sites/guide/table.h"
#include "sites/mbi/sum.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char plan_text[] =
    "{\"schema\":1,\"folder\":\"/a\",\"words\":[\"./a\",\"b\"],\"build_id\":\"0a\",\"repetitions\":3,\"groups\":[["
    "\"0000000000000001\"],[\"0000000000000002\",\"0000000000000003\"]]}";
static const char result_text[] = "{\"schema\":1,\"reason\":null,\"node\":\"n1\",\"source\":\"papi\",\"start\":\"2026-"
                                  "11-28T20:00:00Z\",\"elapsed_s\":"
                                  "1.5,\"read_bytes\":64.0,\"write_bytes\":1.0}";

static void check_plan(const char *text, size_t length)
{
    struct hm_mbi_plan plan, again;
    size_t n = 0;
    if (hm_mbi_plan_parse("fuzz", text, length, &plan, NULL) < 0)
        return;
    if (hm_mbi_plan_runs(&plan) > HM_MBI_RUNS || !plan.word[0] || plan.word[plan.n_words])
        abort();
    for (size_t i = 0; i < plan.n_groups; i++)
        n += plan.group[i].n;
    for (size_t i = 0; i < hm_mbi_plan_runs(&plan); i++)
        if (hm_mbi_plan_run(&plan, i).group >= plan.n_groups)
            abort();
    json_t *json = hm_mbi_plan_json(&plan);
    char *written = json ? json_dumps(json, 0) : NULL;
    if (n > HM_GUIDE_SITES || !written || hm_mbi_plan_parse("fuzz", written, strlen(written), &again, NULL) < 0)
        abort();
    json_t *json_again = hm_mbi_plan_json(&again);
    if (!json_equal(json, json_again))
        abort();
    json_decref(json_again);
    json_decref(json);
    free(written);
    hm_mbi_plan_free(&again);
    hm_mbi_plan_free(&plan);
}

static void check_result(const char *text, size_t length)
{
    struct hm_mbi_result result, again;
    if (hm_mbi_result_parse("fuzz", text, length, &result, NULL) < 0)
        return;
    if (!is_line(result.reason) || (result.reason[0] == '\0') != !isnan(result.read_bytes + result.write_bytes))
        abort();
    json_t *json = hm_mbi_result_json(&result);
    char *written = json ? json_dumps(json, 0) : NULL;
    if (!written || has_negative(json) || hm_mbi_result_parse("fuzz", written, strlen(written), &again, NULL) < 0)
        abort();
    json_t *json_again = hm_mbi_result_json(&again);
    if (!json_equal(json, json_again))
        abort();
    json_decref(json_again);
    json_decref(json);
    free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char plan[sizeof(plan_text)], result[sizeof(result_text)];
    if (size == 0 || data[0] % 2 == 0) {
        check_plan((const char *)data, size);
        check_result((const char *)data, size);
        return 0;
    }
    memcpy(plan, plan_text, sizeof(plan));
    memcpy(result, result_text, sizeof(result));
    patch(plan, sizeof(plan) - 1, data + 1, size - 1);
    patch(result, sizeof(result) - 1, data + 1, size - 1);
    check_plan(plan, sizeof(plan) - 1);
    check_result(result, sizeof(result) - 1);
    return 0;
}
