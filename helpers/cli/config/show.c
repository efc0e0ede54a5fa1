/* SPDX-License-Identifier: Apache-2.0 */
/* The effective configuration in the syntax of hybridmem.conf, so that it can be read again. */
#include <stdio.h>
#include <string.h>

#include "parts.h"

static const char *const record_words[] = {"requested", "all"};
static const char *const level_words[] = {"error", "warning", "info", "debug"};
static const char *const channels_words[] = {"shared", "separate"};
static const char *const rule_words[] = {"user", "group", "account", "partition"};

static void show_modes(const char *indent, unsigned modes)
{
    char list[HM_MODES_LIST];
    printf("%smodes = { %s }\n", indent, hm_modes_list(modes, ", ", list, sizeof(list)));
}

static void show_tier(const struct hm_config_tier *tier)
{
    char list[512];
    const struct {
        const char *word;
        uint64_t value;
    } figures[] = {{"read_latency", tier->read_latency_ns},
                   {"read_bandwidth", tier->read_bandwidth_mbs},
                   {"write_bandwidth", tier->write_bandwidth_mbs}};
    const struct {
        const char *word;
        double value;
        const char *unit;
    } amounts[] = {{"static_power", tier->energy.static_w, "W"},
                   {"read_energy", tier->energy.read_pj_bit, "pJ/bit"},
                   {"write_energy", tier->energy.write_pj_bit, "pJ/bit"}};
    printf("tier \"%s\" {\n", tier->name);
    if (tier->has_nodes)
        printf("    nodes = \"%s\"\n", hm_set_format(&tier->nodes, list, sizeof(list)));
    if (tier->kind != HM_KIND_UNKNOWN)
        printf("    kind = %s\n", hm_kind_name(tier->kind));
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        if (figures[i].value)
            printf("    %s = %llu\n", figures[i].word, (unsigned long long)figures[i].value);
    for (size_t i = 0; i < sizeof(amounts) / sizeof(amounts[0]); i++)
        if (amounts[i].value > 0)
            printf("    %s = \"%.9g%s\"\n", amounts[i].word, amounts[i].value, amounts[i].unit);
    puts("}");
}

static void show_rule(const struct hm_config_rule *rule)
{
    printf("%s \"%s\" {\n", rule_words[rule->kind], rule->name);
    if (rule->has_modes)
        show_modes("    ", rule->modes);
    if (rule->default_mode[0])
        printf("    default_mode = \"%s\"\n", rule->default_mode);
    puts("}");
}

void hm_config_show(const struct hm_config *config)
{
    printf("enabled = %s\n", config->enabled ? "yes" : "no");
    printf("record = %s\n", record_words[config->record]);
    printf("record_dir = \"%s\"\n", config->record_dir);
    printf("record_group = \"%s\"\n", config->record_group);
    printf("state_dir = \"%s\"\n", config->state_dir);
    printf("run_dir = \"%s\"\n", config->run_dir);
    printf("%scluster = \"%s\"\n", config->cluster[0] ? "" : "# as Slurm says: ", config->cluster);
    printf("interval = %ums\n", config->interval_ms);
    printf("reserve = %.9g%%\n", config->reserve_percent);
    printf("reap_grace = %us\n", config->reap_grace_s);
    printf("log_level = %s\n", level_words[config->log_level]);
    show_modes("", config->default_modes);
    printf("migrate = \"%s\"\n", config->migrate.text);
    printf("fsdax_fs = %s\n", hm_dax_fs_name(config->fsdax_fs));
    printf("fsdax_map = %s\n", hm_dax_map_name(config->fsdax_map));
    printf("fsdax_wipe_limit = %us\n", config->fsdax_wipe_limit_s);
    printf("fsdax_keep_share = %.9g%%\n", config->keep_percent);
    if (config->keep_quota_bytes > 0)
        printf("fsdax_keep_quota = %llu\n", (unsigned long long)config->keep_quota_bytes);
    else
        puts("# no limit but the share: fsdax_keep_quota");
    printf("fsdax_keep_age = %us\n", config->keep_age_s);
    printf("ram = %s\n", hm_slow_ram_name(config->ram));
    printf("resctrl = %s\n", config->resctrl ? "yes" : "no");
    printf("resctrl_dir = \"%s\"\n", config->resctrl_dir);
    printf("meter_programs = %s\n", hm_meter_programs_name(config->meter_programs));
    printf("spool_dir = \"%s\"\n", config->spool_dir);
    printf("summary_field = %s\n", hm_summary_name(config->summary_field));
    printf("summary_rate = %llu\n", (unsigned long long)config->summary_rate);
    printf("collect_wait = %us\n", config->collect_wait_s);
    for (int i = 0; i < config->n_tiers; i++)
        show_tier(&config->tier[i]);
    for (int i = 0; i < config->n_channels; i++)
        printf("channels \"%s+%s\" { kind = %s }\n", config->channels[i].fast, config->channels[i].slow,
               channels_words[config->channels[i].channels]);
    for (int i = 0; i < config->n_rules; i++)
        show_rule(&config->rule[i]);
}
