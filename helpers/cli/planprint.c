/* SPDX-License-Identifier: Apache-2.0 */
#include "planprint.h"

#include <jansson.h>
#include <stdio.h>

#include "../core/size.h"

void hm_planprint_text(const struct hm_plan *plan, const struct hm_topology *topology)
{
    char text[512];
    printf("mode       %s\n", hm_request_mode_name(&plan->request));
    printf("policy     %s\n", hm_policy_name(plan->policy));
    if (!hm_set_is_empty(&plan->nodes))
        printf("nodes      %s\n", hm_set_format(&plan->nodes, text, sizeof(text)));
    if (plan->has_weights) {
        printf("weights   ");
        for (int i = 0; i < topology->n_nodes; i++)
            if (plan->weights[i])
                printf(" %d:%u", topology->node[i].id, plan->weights[i]);
        puts(plan->must_set_weights ? " (set for the job)" : " (as they are now)");
    }
    if (plan->reserve_bytes > 0)
        printf("reserve    %s\n", hm_size_format(plan->reserve_bytes, text, sizeof(text)));
    if (plan->predicted_bandwidth_mbs >= 0)
        printf("predicted  %.1f GB/s read bandwidth, by the model\n", plan->predicted_bandwidth_mbs / 1000);
    printf("reason     %s\n", plan->reason);
    for (int i = 0; i < plan->n_warnings; i++)
        printf("warning    %s\n", plan->warning[i]);
}

static json_t *weights_object(const struct hm_plan *plan, const struct hm_topology *topology)
{
    char key[16];
    if (!plan->has_weights)
        return json_null();
    json_t *object = json_object();
    for (int i = 0; i < topology->n_nodes; i++) {
        snprintf(key, sizeof(key), "%d", topology->node[i].id);
        if (plan->weights[i])
            json_object_set_new(object, key, json_integer(plan->weights[i]));
    }
    return object;
}

int hm_planprint_json(const struct hm_plan *plan, const struct hm_topology *topology)
{
    json_t *nodes = json_array(), *warnings = json_array();
    for (int node = hm_set_next(&plan->nodes, 0); node >= 0; node = hm_set_next(&plan->nodes, (unsigned)node + 1))
        json_array_append_new(nodes, json_integer(node));
    for (int i = 0; i < plan->n_warnings; i++)
        json_array_append_new(warnings, json_string(plan->warning[i]));
    json_t *predicted = plan->predicted_bandwidth_mbs >= 0 ? json_real(plan->predicted_bandwidth_mbs) : json_null();
    json_t *object = json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:o, s:I}", "mode", hm_request_mode_name(&plan->request),
                               "policy", hm_policy_name(plan->policy), "nodes", nodes, "weights",
                               weights_object(plan, topology), "reason", plan->reason, "warnings", warnings,
                               "predicted_bandwidth_mbs", predicted, "reserve_bytes", (json_int_t)plan->reserve_bytes);
    int status = object ? json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) : -1;
    json_decref(object);
    putchar('\n');
    return status;
}
