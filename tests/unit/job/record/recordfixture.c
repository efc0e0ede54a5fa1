/* SPDX-License-Identifier: Apache-2.0 */
#include "recordfixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hm_config config;
struct hm_tiers tiers;
struct hm_job job;
struct hm_samples samples;

void set_tier(int index, const char *name, enum hm_kind kind, unsigned first_node)
{
    snprintf(tiers.tier[index].name, HM_NAME, "%s", name);
    tiers.tier[index].kind = kind;
    tiers.tier[index].capacity_bytes = (index == 0 ? 1024 : 4096) * MIB;
    hm_set_add(&tiers.tier[index].nodes, first_node);
    hm_set_add(&tiers.tier[index].nodes, first_node + 1);
}

int set_up(void **state)
{
    (void)state;
    hm_config_defaults(&config);
    tiers = (struct hm_tiers){.n_tiers = 2, .topology = {.n_nodes = 4}};
    for (int i = 0; i < 4; i++)
        tiers.topology.node[i].id = i;
    set_tier(0, "dram", HM_KIND_DRAM, 0);
    set_tier(1, "pmem", HM_KIND_PMEM, 2);
    job = (struct hm_job){.job_id = 42,
                          .array_job_id = HM_NO_ID,
                          .array_task_id = HM_NO_ID,
                          .het_job_id = HM_NO_ID,
                          .uid = 1001,
                          .gid = 1001,
                          .user = "alice",
                          .account = "physics",
                          .partition = "main",
                          .cluster = "test",
                          .node = "n1",
                          .request = "spill",
                          .recorded = true,
                          .start_ns = START + SECOND / 4,
                          .n_steps = 2,
                          .step = {0xfffffffc, 0xfffffffb},
                          .has_exit_status = true};
    samples = (struct hm_samples){.magic = HM_SAMPLES_MAGIC,
                                  .version = HM_SAMPLES_VERSION,
                                  .bytes = sizeof(samples),
                                  .n_tiers = 2,
                                  .interval_ms = 1000,
                                  .stride = 1,
                                  .finished = 1,
                                  .peak_source = HM_PEAK_KERNEL,
                                  .memory_peak = 700 * MIB};
    for (int t = 0; t < 2; t++) {
        memcpy(samples.tier_name[t], tiers.tier[t].name, HM_NAME);
        samples.tier_kind[t] = (uint32_t)tiers.tier[t].kind;
        samples.tier_nodes[t] = tiers.tier[t].nodes;
    }
    return 0;
}

void sample_at(unsigned second, uint64_t fast_anon, uint64_t slow_anon, uint64_t file)
{
    const struct hm_usage usage[HM_MAX_TIERS] = {
        {.anon = fast_anon, .file = file, .shmem = MIB, .kernel = 4096, .hugetlb = 2 * MIB}, {.anon = slow_anon}};
    hm_samples_add(&samples, usage, (uint64_t)(START + second * SECOND), (uint64_t)(second * SECOND));
}

void plan_spill(void)
{
    job.has_plan = true;
    job.plan.request.mode = HM_MODE_SPILL;
    job.plan.policy = HM_POLICY_INTERLEAVE;
    job.plan.nodes = tiers.tier[0].nodes;
    snprintf(job.plan.reason, sizeof(job.plan.reason), "the fast tier is filled first, evenly over its nodes");
}

void assert_golden(const char *name, const struct hm_tiers *known, const struct hm_samples *measured, const char *why)
{
    char path[512];
    json_error_t at;
    json_t *record = hm_record_build(&config, known, &job, measured, why, START + 3600 * SECOND + 123456789);
    assert_non_null(record);
    snprintf(path, sizeof(path), FIXTURES "/records/%s.json", name);
    json_t *golden = json_load_file(path, 0, &at);
    char *text = json_dumps(record, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
    assert_non_null(text);
    /* Compared as text: the order of the keys is part of the contract. */
    char *wanted = golden ? json_dumps(golden, JSON_INDENT(2) | JSON_REAL_PRECISION(15)) : NULL;
    if (!wanted || strcmp(text, wanted) != 0) {
        fprintf(stderr, "%s\n", text);
        fail_msg("%s is not what was built (above): %s", path, golden ? "it differs" : at.text);
    }
    free(text);
    free(wanted);
    json_decref(golden);
    json_decref(record);
}

void set_metered(void)
{
    samples.metered = (struct hm_metered){
        .n_readings = 13,
        .first_mono_ns = 5 * SECOND,
        .last_mono_ns = 125 * SECOND,
        .energy = {[HM_DOMAIN_PACKAGE] = {24000, 1}, [HM_DOMAIN_MEMORY] = {3000.5, 1}},
        .peak_w = {310.25, 1},
        .traffic = {{{9e12, 1}, {4096, 1}}, {{1 << 20, 1}, {0, 0}}},
        .energy_source = "powercap; platform: no zone psys",
        .traffic_source = "perf-imc",
        .group = {[HM_GROUP_TOTAL] = {7e9, 1}, [HM_GROUP_LOCAL] = {0, 0}},
        .group_source = "resctrl; the processor does not count local bytes",
    };
}

void set_model(void)
{
    tiers.tier[0].energy = (struct hm_energy_model){.static_w = 2, .read_pj_bit = 6.25, .write_pj_bit = 7};
    tiers.tier[1].energy = (struct hm_energy_model){.static_w = 0.5, .read_pj_bit = 12.5, .write_pj_bit = 62.5};
}
