/* SPDX-License-Identifier: Apache-2.0 */
#include "record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "parts.h"
#include "slurm/stepname.h"

#define TEXT(array) hm_json_text(array, sizeof(array))

static json_t *id_or_null(uint32_t id)
{
    return id == HM_NO_ID ? json_null() : json_integer(id);
}

/* Takes capacity and energy model from the node's present tier with the same nodes. Without one they stay unknown. */
static void look_up(const struct hm_tiers *tiers, struct hm_record_tier *tier)
{
    for (int t = 0; tiers && t < tiers->n_tiers; t++)
        if (hm_set_equal(&tiers->tier[t].nodes, tier->nodes)) {
            tier->capacity_bytes = tiers->tier[t].capacity_bytes;
            tier->energy = tiers->tier[t].energy;
            return;
        }
}

static struct hm_record_tiers list_tiers(const struct hm_tiers *tiers, const struct hm_samples *samples)
{
    struct hm_record_tiers list = {.n = samples ? (int)samples->n_tiers : tiers ? tiers->n_tiers : 0};
    for (int t = 0; t < list.n; t++)
        list.tier[t] = samples ? (struct hm_record_tier){.name = samples->tier_name[t],
                                                         .kind = (enum hm_kind)samples->tier_kind[t],
                                                         .nodes = &samples->tier_nodes[t]}
                               : (struct hm_record_tier){.name = tiers->tier[t].name,
                                                         .kind = tiers->tier[t].kind,
                                                         .nodes = &tiers->tier[t].nodes};
    for (int t = 0; t < list.n; t++)
        look_up(tiers, &list.tier[t]);
    return list;
}

static json_t *step_ids(const struct hm_job *job)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < job->n_steps && i < HM_JOB_STEPS; i++) {
        char name[16];
        if (job->step[i] != HM_STEP_EXTERN)
            json_array_append_new(list, json_string(hm_step_name(job->step[i], name, sizeof(name))));
    }
    return list;
}

/* Weights by node number; the plan has them by index in the topology. */
static json_t *weights_of(const struct hm_plan *plan, const struct hm_tiers *tiers)
{
    if (!plan->has_weights || !tiers)
        return json_null();
    json_t *weights = json_object();
    for (int i = 0; i < tiers->topology.n_nodes && i < HM_MAX_NODES; i++) {
        char node[16];
        snprintf(node, sizeof(node), "%d", tiers->topology.node[i].id);
        if (plan->weights[i] > 0)
            json_object_set_new(weights, node, json_integer(plan->weights[i]));
    }
    return weights;
}

/* A request that was never valid can be any text: it is not handed on. The warning of its refusal shows it. */
static json_t *request_of(const struct hm_job *job)
{
    struct hm_request request;
    if (job->request[0] && hm_request_parse(job->request, &request, NULL) != 0)
        return json_string("invalid");
    return TEXT(job->request);
}

static json_t *plan_of(const struct hm_job *job, const struct hm_tiers *tiers, const struct hm_record_tiers *list)
{
    const struct hm_plan *plan = &job->plan;
    if (!job->has_plan)
        return json_null();
    json_t *names = json_array();
    for (int t = 0; t < list->n; t++)
        if (hm_set_intersects(&plan->nodes, list->tier[t].nodes))
            json_array_append_new(names, hm_json_text(list->tier[t].name, HM_NAME));
    return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:o}", "mode", hm_request_mode_name(&plan->request), "reason",
                     TEXT(plan->reason), "policy", hm_policy_name(plan->policy), "tiers", names, "nodes",
                     hm_json_set(&plan->nodes), "weights", weights_of(plan, tiers), "side_cache_bytes",
                     plan->side_cache_bytes > 0 ? hm_json_bytes(plan->side_cache_bytes) : json_null());
}

/* The exit code as a shell shows it: 128 + the signal's number if a signal has ended the task. */
static json_t *exit_code(const struct hm_job *job)
{
    if (job->has_exit_status && WIFEXITED(job->exit_status))
        return json_integer(WEXITSTATUS(job->exit_status));
    if (job->has_exit_status && WIFSIGNALED(job->exit_status))
        return json_integer(128 + WTERMSIG(job->exit_status));
    return json_null();
}

static json_t *warnings_of(const struct hm_job *job, const struct hm_tiers *tiers, const json_t *steps)
{
    json_t *warnings = json_array();
    if (json_array_size(steps) == 0)
        hm_record_warn(warnings, "no step ran on this node");
    if (job->refusal[0])
        hm_record_warn(warnings, "refused: %.*s", (int)sizeof(job->refusal) - 16, job->refusal);
    for (uint32_t i = 0; i < job->n_warnings && i < HM_JOB_WARNINGS; i++)
        json_array_append_new(warnings, TEXT(job->warning[i]));
    for (int i = 0; job->has_plan && i < job->plan.n_warnings && i < HM_MAX_WARNINGS; i++)
        json_array_append_new(warnings, TEXT(job->plan.warning[i]));
    /*
     * Without a monitoring group of resctrl there is no warning: the figure's "source" says why there is none, and the
     * warning would be the same for every job on this node.
     */
    if (job->mongroup.is_begun && job->mongroup.why[0])
        hm_record_warn(warnings, "its own memory traffic is not known: %.*s", (int)sizeof(job->mongroup.why),
                       job->mongroup.why);
    if (!tiers)
        hm_record_warn(warnings, "the node's memory tiers are not known");
    return warnings;
}

static json_t *elapsed(int64_t start_ns, int64_t end_ns)
{
    return start_ns > 0 && end_ns >= start_ns ? json_real((double)((end_ns - start_ns) / 1000000) / 1000) : json_null();
}

json_t *hm_record_build(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                        const struct hm_samples *samples, const char *no_samples, int64_t end_ns)
{
    struct hm_record_tiers list = list_tiers(tiers, samples);
    json_t *steps = step_ids(job), *warnings = warnings_of(job, tiers, steps);
    /* The keys that identify the record come first, up to "end": the store compares these (hm_store_append). */
    json_t *record = json_pack(
        "{s:i, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:o, "
        "s:o}",
        "schema", HM_RECORD_SCHEMA, "cluster", config->cluster[0] ? TEXT(config->cluster) : TEXT(job->cluster),
        "job_id", (json_int_t)job->job_id, "node", job->node[0] ? TEXT(job->node) : json_string("unknown"),
        "restart_count", (json_int_t)job->restart, "start", hm_json_time(job->start_ns), "end", hm_json_time(end_ns),
        "elapsed_s", elapsed(job->start_ns, end_ns), "array_job_id", id_or_null(job->array_job_id), "array_task_id",
        id_or_null(job->array_task_id), "het_job_id", id_or_null(job->het_job_id), "step_ids", steps, "step_count",
        (json_int_t)job->n_steps, "user", TEXT(job->user), "uid", (json_int_t)job->uid, "account", TEXT(job->account),
        "partition", TEXT(job->partition), "request", request_of(job), "plan", plan_of(job, tiers, &list), "shared",
        job->had_company, "exit_code", exit_code(job), "memory",
        hm_record_memory(job, &list, samples, no_samples, warnings));
    if (!record) {
        json_decref(warnings);
        return NULL;
    }
    json_t *energy = hm_record_energy(job, samples, no_samples);
    json_object_set_new(record, "energy", energy);
    json_object_set_new(record, "traffic", hm_record_traffic(job, &list, samples, no_samples));
    json_object_set_new(energy, "estimate", hm_record_energy_estimate(&list, samples, record));
    json_object_set_new(record, "migration", hm_record_migration(job));
    json_object_set_new(record, "guided", hm_record_guided(job, &list, json_object_get(record, "traffic")));
    json_object_set_new(record, "profile", hm_record_profile(&job->profiled));
    json_object_set_new(record, "namespaces", hm_record_namespaces(&job->namespaces));
    json_object_set_new(record, "warnings", warnings);
    return record;
}

int hm_record_write(const struct hm_config *config, const struct hm_tiers *tiers, const struct hm_job *job,
                    const struct hm_samples *samples, const char *no_samples, int64_t end_ns, enum hm_store_way way,
                    struct hm_error *error)
{
    char *line = NULL;
    int result = -1;
    json_t *record = hm_record_build(config, tiers, job, samples, no_samples, end_ns);
    if (record)
        line = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (!line) {
        hm_fail(error, ENOMEM, "no memory to build the record");
        goto done;
    }
    const struct hm_store_key key = {
        .node = job->node, .job_id = job->job_id, .uid = job->uid, .gid = job->gid, .end_ns = end_ns, .way = way};
    result = hm_store_put(config, &key, line, error);
done:
    free(line);
    json_decref(record);
    return result;
}
