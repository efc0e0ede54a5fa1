/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the effective configuration in the syntax of hybridmem.conf, so that it can be read again. */
#include <stdio.h>
#include <string.h>

#include "core/config/value.h"
#include "parts.h"

/* The line that is printed for a key without a value. */
static const struct {
    const char *word, *remark;
} remarks[] = {{"cluster", "# cluster is not set: Slurm's ClusterName is used"},
               {"load", "# load is not set: the tiers' read latencies and bandwidths are taken"},
               {"fsdax_keep_quota", "# fsdax_keep_quota is not set: only fsdax_keep_share limits what a user keeps"}};

static void show_remark(const char *word)
{
    for (size_t i = 0; i < sizeof(remarks) / sizeof(remarks[0]); i++)
        if (strcmp(remarks[i].word, word) == 0)
            puts(remarks[i].remark);
}

/* Prints each key of the entry that has a value, on a line of its own. */
static void show_words(const struct hm_config *config, enum hm_section section, int entry)
{
    char value[HM_CONFIGVALUE_TEXT];
    const char *word, *indent = section == HM_SECTION_TOP ? "" : "    ";
    for (int n = 0; (word = hm_configvalue_word(section, n, NULL)); n++) {
        if (hm_configvalue_write(config, section, entry, word, value, sizeof(value)))
            printf("%s%s = %s\n", indent, word, value);
        else if (section == HM_SECTION_TOP)
            show_remark(word);
    }
}

static void show_section(const struct hm_config *config, enum hm_section section, int entry, const char *title)
{
    printf("%s \"%s\" {\n", hm_configvalue_section_name(section), title);
    show_words(config, section, entry);
    puts("}");
}

void hm_config_show(const struct hm_config *config)
{
    char title[2 * HM_NAME];
    show_words(config, HM_SECTION_TOP, 0);
    for (int i = 0; i < config->n_tiers; i++)
        show_section(config, HM_SECTION_TIER, i, config->tier[i].name);
    for (int i = 0; i < config->n_channels; i++) {
        snprintf(title, sizeof(title), "%s+%s", config->channels[i].fast, config->channels[i].slow);
        show_section(config, HM_SECTION_CHANNELS, i, title);
    }
    if (config->redfish.url[0])
        show_section(config, HM_SECTION_REDFISH, 0, config->redfish.url);
    for (int i = 0; i < config->n_boards; i++)
        show_section(config, HM_SECTION_BOARD, i, config->board[i].name);
    for (int i = 0; i < config->n_rules; i++)
        show_section(config, (enum hm_section)(HM_SECTION_USER + config->rule[i].kind), i, config->rule[i].name);
}
