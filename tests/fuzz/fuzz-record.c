/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what root's epilog makes of the figures that a migrator (the job's user) and a monitor (the user hybridmem)
 * have left, and of the job's texts. The first byte chooses one of the three. Figures that are accepted can be entered
 * in the ledger, and the record is one line of JSON with all its keys, and without negative numbers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "job/record/record.h"
#include "jsonline.h"
#include "patch.h"

#define START INT64_C(1740823200000000000) /* 2025-03-01T10:00:00Z */
#define END (START + INT64_C(3600000000000))

static struct hm_config config;
static struct hm_tiers tiers = {.n_tiers = 1, .tier = {{.name = "dram", .capacity_bytes = 1 << 30}}};
static struct hm_job job;
static struct hm_samples samples;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void set_up(void)
{
    hm_config_defaults(&config);
    memset(&job, 0, sizeof(job));
    job.job_id = 42;
    job.array_job_id = job.array_task_id = job.het_job_id = HM_NO_ID;
    job.start_ns = START;
    hm_migration_clear(&job.migration);
    hm_set_add(&tiers.tier[0].nodes, 0);
    samples = (struct hm_samples){.magic = HM_SAMPLES_MAGIC,
                                  .version = HM_SAMPLES_VERSION,
                                  .bytes = sizeof(samples),
                                  .n_tiers = 1,
                                  .tier_name = {"dram"},
                                  .interval_ms = 1000,
                                  .stride = 1,
                                  .finished = 1,
                                  .n_samples = 2,
                                  .n_points = 2,
                                  .last_mono_ns = 1000000000,
                                  .metered = {.n_readings = 2, .last_mono_ns = 1000000000}};
    samples.metered.energy[HM_DOMAIN_PACKAGE].is_known = 1;
    samples.metered.energy[HM_DOMAIN_MEMORY].is_known = 1;
}

/* A step's figures, as its migrator has left them. */
static void add_step(const uint8_t *data, size_t size)
{
    struct hm_progress progress;
    hm_progress_init(&progress, 0);
    progress.state = HM_PROGRESS_ENDED;
    progress.samples = 100;
    progress.fast_share = 0.25;
    progress.best_share = 0.5;
    patch(&progress, sizeof(progress), data, size);
    if (hm_progress_check(&progress, NULL) == 0)
        hm_migration_add(&job.migration, &progress);
    if (hm_fields_check(hm_migration_table, &job.migration, NULL) != 0)
        abort();
}

static void add_texts(const uint8_t *data, size_t size)
{
    char text[sizeof(job.refusal)] = "";
    memcpy(text, data, size < sizeof(text) ? size : sizeof(text) - 1);
    hm_text_copy(job.user, text, sizeof(job.user));
    hm_text_copy(job.node, text, sizeof(job.node));
    hm_text_copy(job.request, text, sizeof(job.request));
    hm_text_copy(job.refusal, text, sizeof(job.refusal));
    hm_job_warn(&job, "%s", text);
}

/* The number of keys in the record and in the objects that each record has. */
static size_t count_keys(json_t *record)
{
    static const char *const objects[] = {"memory", "energy", "traffic", "migration"};
    size_t count = json_object_size(record);
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++)
        count += json_object_size(json_object_get(record, objects[i]));
    return count;
}

/* Builds the record. Returns the number of its keys. */
static size_t build(const struct hm_samples *measured)
{
    json_t *record = hm_record_build(&config, &tiers, &job, measured, "no monitor ran", END);
    char *line = record ? json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;
    if (!line || !is_line(line) || has_negative(record))
        abort();
    size_t count = count_keys(record);
    json_decref(record);
    free(line);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static size_t keys;
    if (size == 0)
        return 0;
    set_up();
    keys = keys ? keys : build(NULL);
    uint8_t which = data[0] % 3;
    size_t half = (size - 1) / 2;
    if (which == 0) {
        add_step(data + 1, half);
        add_step(data + 1 + half, size - 1 - half);
    } else if (which == 1) {
        add_texts(data + 1, size - 1);
    } else {
        patch(&samples, sizeof(samples), data + 1, size - 1);
    }
    bool is_measured = which == 2 && hm_samples_check(&samples, NULL) == 0;
    if (build(is_measured ? &samples : NULL) != keys)
        abort();
    return 0;
}
