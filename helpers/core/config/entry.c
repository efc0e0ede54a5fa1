/* SPDX-License-Identifier: Apache-2.0 */
/* Finds or makes the entry in the configuration for a section of hybridmem.conf and its title. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "value.h"

#define HTTPS "https://"
#define HOST_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%"

static const char *const section_names[HM_SECTIONS] = {NULL,   "tier",  "channels", "redfish",   "board",
                                                       "user", "group", "account",  "partition", "qos"};

const char *hm_configvalue_section_name(enum hm_section section)
{
    return section_names[section];
}

bool hm_configvalue_is_rule(enum hm_section section)
{
    return section >= HM_SECTION_USER;
}

/* Check and copy a tier's name or kind. Returns 0 or -1. */
static int copy_tier_name(char name[HM_NAME], const char *text, size_t length)
{
    if (length == 0 || length >= HM_NAME || strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") < length)
        return -1;
    memcpy(name, text, length);
    name[length] = '\0';
    return 0;
}

static int tier_entry(struct hm_config *config, const char *title, struct hm_error *error)
{
    char name[HM_NAME];
    if (copy_tier_name(name, title, strlen(title)) < 0)
        return hm_fail(error, EINVAL, "\"%.40s\" is not a tier's name: use 1 to %d lower case letters, digits, - and _",
                       title, HM_NAME - 1);
    for (int i = 0; i < config->n_tiers; i++)
        if (strcmp(config->tier[i].name, name) == 0)
            return i;
    if (config->n_tiers == HM_MAX_TIERS)
        return hm_fail(error, EINVAL, "there are too many tiers: %d are allowed", HM_MAX_TIERS);
    memcpy(config->tier[config->n_tiers].name, name, sizeof(name));
    return config->n_tiers++;
}

static int channels_entry(struct hm_config *config, const char *title, struct hm_error *error)
{
    struct hm_config_channels new = {0};
    const char *plus = strchr(title, '+');
    if (!plus || copy_tier_name(new.fast, title, (size_t)(plus - title)) < 0 ||
        copy_tier_name(new.slow, plus + 1, strlen(plus + 1)) < 0 || strcmp(new.fast, new.slow) == 0)
        return hm_fail(error, EINVAL,
                       "\"%.60s\" is not a pair of tiers: write two names or kinds of tiers, as in \"dram+cxl\"",
                       title);
    for (int i = 0; i < config->n_channels; i++) {
        const struct hm_config_channels *old = &config->channels[i];
        if (strcmp(old->fast, new.fast) == 0 && strcmp(old->slow, new.slow) == 0)
            return i;
        if (strcmp(old->fast, new.slow) == 0 && strcmp(old->slow, new.fast) == 0)
            return hm_fail(error, EINVAL, "these channels are there already, as \"%s+%s\": keep one of them", old->fast,
                           old->slow);
    }
    if (config->n_channels == HM_MAX_TIERS)
        return hm_fail(error, EINVAL, "there are too many channels: %d are allowed", HM_MAX_TIERS);
    config->channels[config->n_channels] = new;
    return config->n_channels++;
}

/* The title is where the service is. What hybridmem asks for there is not a matter of the configuration. */
static int redfish_entry(struct hm_config *config, const char *title, struct hm_error *error)
{
    struct hm_config_redfish *redfish = &config->redfish;
    size_t scheme = strlen(HTTPS), length = strlen(title);
    if (strncmp(title, HTTPS, scheme) != 0 || length == scheme || length >= sizeof(redfish->url) ||
        title[scheme + strspn(title + scheme, HOST_BYTES)] != '\0')
        return hm_fail(error, EINVAL,
                       "\"%.80s\" is not the address of a service: write https:// and a host, as in "
                       "\"https://%%h-bmc.example.org\"",
                       title);
    if (strcmp(redfish->url, title) == 0)
        return 0;
    if (redfish->url[0])
        return hm_fail(error, EINVAL, "there is one already, for %s: a node has one service", redfish->url);
    memcpy(redfish->url, title, length + 1);
    redfish->verify = true;
    redfish->timeout_s = 30;
    return 0;
}

static int board_entry(struct hm_config *config, const char *title, struct hm_error *error)
{
    size_t length = strlen(title);
    if (length == 0 || length >= HM_CONFIG_VALUE || strchr(title, '"'))
        return hm_fail(error, EINVAL, "\"%.80s\" is not a name of 1 to %d characters", title, HM_CONFIG_VALUE - 1);
    for (int i = 0; i < config->n_boards; i++)
        if (strcmp(config->board[i].name, title) == 0)
            return i;
    if (config->n_boards == HM_CONFIG_BOARDS)
        return hm_fail(error, EINVAL, "there are too many boards: %d are allowed", HM_CONFIG_BOARDS);
    memcpy(config->board[config->n_boards].name, title, length + 1);
    return config->n_boards++;
}

static int rule_entry(struct hm_config *config, enum hm_section section, const char *title, struct hm_error *error)
{
    struct hm_config_rule new = {.kind = (enum hm_rule_kind)(section - HM_SECTION_USER)};
    size_t length = strlen(title);
    if (length == 0 || length >= sizeof(new.name) || strchr(title, ' '))
        return hm_fail(error, EINVAL, "\"%.80s\" is not a name of 1 to %zu characters without spaces", title,
                       sizeof(new.name) - 1);
    memcpy(new.name, title, length + 1);
    for (int i = 0; i < config->n_rules; i++)
        if (config->rule[i].kind == new.kind && strcmp(config->rule[i].name, title) == 0)
            return i;
    if (config->n_rules == HM_CONFIG_RULES)
        return hm_fail(error, EINVAL,
                       "there are too many user, group, account, partition and qos sections: %d are allowed",
                       HM_CONFIG_RULES);
    config->rule[config->n_rules] = new;
    return config->n_rules++;
}

int hm_configvalue_entry(struct hm_config *config, enum hm_section section, const char *title, struct hm_error *error)
{
    switch (section) {
    case HM_SECTION_TOP:
        return 0;
    case HM_SECTION_TIER:
        return tier_entry(config, title, error);
    case HM_SECTION_CHANNELS:
        return channels_entry(config, title, error);
    case HM_SECTION_REDFISH:
        return redfish_entry(config, title, error);
    case HM_SECTION_BOARD:
        return board_entry(config, title, error);
    default:
        return rule_entry(config, section, title, error);
    }
}
