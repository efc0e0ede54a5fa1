/* SPDX-License-Identifier: Apache-2.0 */
#include "planrow.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machines.h"

static void read_weights(const char *text, uint8_t weights[HM_MAX_NODES])
{
    for (const char *at = text; at && *at; at += strcspn(at, " ") + (at[strcspn(at, " ")] == ' ')) {
        char *end;
        long node = strtol(at, &end, 10);
        weights[node] = (uint8_t)strtol(end + 1, NULL, 10);
    }
}

int planrow_resolve(struct work *work, const struct row *row)
{
    char text[200] = "";
    memset(work, 0, sizeof(*work));
    machine_make(row->shape, &work->tiers);
    snprintf(text, sizeof(text), "%s", row->config ? row->config : "");
    assert_int_equal(hm_config_parse("f", text, strlen(text), &work->config, NULL), 0);
    assert_int_equal(hm_request_parse(row->request, &work->request, NULL), 0);
    assert_int_equal(hm_abilities_of_kernel(row->kernel, &work->abilities, NULL), 0);
    work->abilities.alone = row->alone;
    work->abilities.has_weights = row->weights_now != NULL;
    read_weights(row->weights_now, work->abilities.weights);
    assert_int_equal(hm_set_parse(&work->where.cpus, row->cpus, NULL), 0);
    work->where.size_bytes = row->size_gib * GIB;
    return hm_plan_resolve(&work->request, &work->tiers, &work->config, &work->abilities, &work->where, &work->plan,
                           &work->error);
}

static void check_plan(const struct row *row, const struct hm_plan *plan)
{
    char nodes[64];
    uint8_t weights[HM_MAX_NODES] = {0};
    assert_string_equal(hm_policy_name(plan->policy), hm_policy_name(row->policy));
    assert_string_equal(hm_set_format(&plan->nodes, nodes, sizeof(nodes)), row->nodes);
    assert_float_equal(plan->predicted_bandwidth_mbs, row->predicted_gbs < 0 ? -1 : row->predicted_gbs * 1000, 60);
    if (row->predicted_gbs < 0)
        assert_true(plan->predicted_bandwidth_mbs < 0);
    read_weights(row->weights, weights);
    assert_memory_equal(plan->weights, weights, sizeof(weights));
    assert_int_equal(plan->has_weights, row->weights != NULL);
    assert_int_equal(plan->must_set_weights, row->must_set);
    if (!strstr(plan->reason, row->reason))
        fail_msg("%s on %s: %s", row->request, row->shape, plan->reason);
    assert_int_equal(plan->reason[strlen(plan->reason) - 1], '.');
    assert_int_equal(plan->reserve_bytes > 0, strstr(plan->reason, "in reserve") != NULL);
    assert_int_equal(plan->n_warnings, row->warning != NULL);
    if (row->warning && !strstr(plan->warning[0], row->warning))
        fail_msg("%s on %s: %s", row->request, row->shape, plan->warning[0]);
    assert_string_equal(plan->request.text, row->request);
}

void planrow_check(const struct row *rows, size_t count)
{
    struct work *work = malloc(sizeof(*work));
    assert_non_null(work);
    for (size_t i = 0; i < count; i++) {
        int status = planrow_resolve(work, &rows[i]);
        if (status < 0)
            fail_msg("%s on %s: %s", rows[i].request, rows[i].shape, work->error.text);
        check_plan(&rows[i], &work->plan);
    }
    free(work);
}
