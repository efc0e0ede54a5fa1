/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the command line of a step's migrator. Pure. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "migrator.h"

#define NAME "hybridmem-migrator"

/*
 * Adds an option and its value. If there is no room, `used` becomes the size of `text`, which hm_migrator_command
 * checks at the end.
 */
__attribute__((format(printf, 3, 4))) static void add(struct hm_migrator_command *command, const char *name,
                                                      const char *format, ...)
{
    char value[HM_JOB_CGROUP + 32];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    const char *const parts[] = {name, value};
    for (int i = 0; i < 2; i++) {
        size_t bytes = strlen(parts[i]) + 1;
        if (length < 0 || (size_t)length >= sizeof(value) || command->count == HM_MIGRATOR_WORDS ||
            bytes > sizeof(command->text) - command->used) {
            command->used = sizeof(command->text);
            return;
        }
        command->word[command->count++] = memcpy(command->text + command->used, parts[i], bytes);
        command->word[command->count] = NULL;
        command->used += bytes;
    }
}

static void add_nodes(struct hm_migrator_command *command, const char *name, const struct hm_set *nodes)
{
    char list[HM_JOB_CGROUP];
    add(command, name, "%s", hm_set_format(nodes, list, sizeof(list)));
}

/* Adds a number, unless it is 0, which means that it was not given. */
static void add_number(struct hm_migrator_command *command, const char *name, uint64_t number)
{
    if (number > 0)
        add(command, name, "%llu", (unsigned long long)number);
}

static void add_ratio(struct hm_migrator_command *command, const char *name, double ratio)
{
    if (ratio > 0)
        add(command, name, "%.9g", ratio);
}

/* Names a tier between the fast and the slow one. */
static void add_middle(struct hm_migrator_command *command, const struct hm_plan_middle *middle)
{
    char list[HM_JOB_CGROUP];
    hm_set_format(&middle->nodes, list, sizeof(list));
    if (middle->write_latency > 0)
        add(command, "--middle-tier", "%s:%.9g:%.9g", list, middle->read_latency, middle->write_latency);
    else if (middle->read_latency > 0)
        add(command, "--middle-tier", "%s:%.9g", list, middle->read_latency);
    else
        add(command, "--middle-tier", "%s", list);
}

/* Tells the curves of the tiers under load, and where their traffic is. */
static void add_load(struct hm_migrator_command *command, const struct hm_migrator_facts *facts)
{
    const struct hm_load_peaks *peaks = &facts->plan->balance.peaks;
    if (facts->plan->balance.curves == HM_CURVES_NONE)
        return;
    if (facts->plan->balance.curves == HM_CURVES_FILE)
        add(command, "--load", "%s", facts->load);
    else
        add(command, "--peaks", "channels %s\nfast idle %.9gns peak %.9gGB/s\nslow idle %.9gns peak %.9gGB/s",
            peaks->channels == HM_CHANNELS_SHARED ? "shared" : "separate", peaks->fast_ns, peaks->fast_gbs,
            peaks->slow_ns, peaks->slow_gbs);
    if (facts->traffic)
        add(command, "--traffic", "%s", facts->traffic);
}

int hm_migrator_command(const struct hm_migrator_facts *facts, struct hm_migrator_command *command,
                        struct hm_error *error)
{
    const struct hm_plan_migration *plan = facts->plan;
    const struct hm_migrate_keys *keys = &plan->keys;
    memset(command, 0, sizeof(*command));
    command->word[command->count++] = hm_text_copy(command->text, NAME, sizeof(command->text));
    command->used = strlen(command->text) + 1;
    add(command, "--cgroup", "%s/user", facts->step_cgroup);
    add(command, "--guard", "%s/user/cgroup.events", facts->step_cgroup);
    add(command, "--progress-fd", "3");
    add(command, "--uid", "%u", facts->uid);
    add(command, "--gid", "%u", facts->gid);
    add(command, "--job", "%u", facts->job_id);
    add(command, "--step", "%u", facts->step_id);
    add_nodes(command, "--fast-nodes", &plan->fast_nodes);
    for (uint32_t i = 0; i < plan->n_middle; i++)
        add_middle(command, &plan->middle[i]);
    add_nodes(command, "--slow-nodes", &plan->slow_nodes);
    add(command, "--algorithm", "%s", hm_algorithm_name(keys->algorithm));
    add(command, "--source", "%s", keys->source);
    add(command, "--hot-by", "%s", hm_hot_by_name(keys->hot_by));
    add(command, "--interval", "%llums", (unsigned long long)keys->interval_ms);
    add(command, "--overhead", "%.9g%%", keys->overhead_percent);
    add_number(command, "--cap", plan->cap_bytes);
    add_number(command, "--reserve", facts->reserve_bytes);
    add_number(command, "--bins", keys->bins);
    add_number(command, "--period", keys->period);
    add_number(command, "--rate", keys->rate_bytes);
    add_number(command, "--end", facts->end_s);
    add_ratio(command, "--lat-read", plan->read_latency);
    add_ratio(command, "--lat-write", plan->write_latency);
    add_load(command, facts);
    if (facts->broker)
        add(command, "--broker", "%s", facts->broker);
    if (facts->shares) {
        add(command, "--shares", "%s", facts->shares);
        add_nodes(command, "--shared-nodes", facts->shared_nodes);
    }
    return command->used < sizeof(command->text) ? 0
                                                 : hm_fail(error, E2BIG, "the command line of " NAME " is too long");
}
