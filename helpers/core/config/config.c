/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration's built-in values, and the questions that other code asks it. Pure. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "value.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

void hm_config_defaults(struct hm_config *config)
{
    memset(config, 0, sizeof(*config));
    config->enabled = true;
    config->record = HM_RECORD_REQUESTED;
    snprintf(config->record_dir, sizeof(config->record_dir), "/var/lib/hybridmem/records");
    snprintf(config->record_group, sizeof(config->record_group), "hybridmem");
    snprintf(config->state_dir, sizeof(config->state_dir), "/var/lib/hybridmem");
    snprintf(config->run_dir, sizeof(config->run_dir), "/run/hybridmem");
    config->interval_ms = 1000;
    config->reserve_percent = 2.0;
    config->reap_grace_s = 600;
    config->log_level = HM_LOG_INFO;
    config->default_modes = HM_MODES_ANY;
    hm_configvalue_set(config, HM_SECTION_TOP, 0, "migrate", "interval=10s,overhead=1%", true, NULL);
    config->keep_age_s = 7 * 24 * 3600;
    snprintf(config->resctrl_dir, sizeof(config->resctrl_dir), "/sys/fs/resctrl");
    snprintf(config->spool_dir, sizeof(config->spool_dir), "/var/lib/hybridmem/spool");
    config->summary_rate = 120;
    config->collect_wait_s = 300;
}

const char *hm_config_path(void)
{
    return HM_SYSCONFDIR "/hybridmem.conf";
}

static const char *rule_name(enum hm_rule_kind kind)
{
    static const char *const names[] = {"user", "group", "account", "partition", "qos"};
    return names[kind];
}

/* Slurm stores the names of accounts and QOS in small letters. */
static bool is_name(enum hm_rule_kind kind, const char *name, const char *other)
{
    bool is_small = kind == HM_RULE_ACCOUNT || kind == HM_RULE_QOS;
    return (is_small ? strcasecmp(name, other) : strcmp(name, other)) == 0;
}

static const struct hm_config_rule *find_rule(const struct hm_config *config, enum hm_rule_kind kind, const char *name)
{
    for (int i = 0; name && i < config->n_rules; i++)
        if (config->rule[i].kind == kind && is_name(kind, config->rule[i].name, name))
            return &config->rule[i];
    return NULL;
}

/* Is the request's mode among `modes`, those of `rule`? NULL as `rule`: they are those for everybody. The mode off is
 * always allowed, as it asks for nothing. */
static int check_modes(const struct hm_request *request, unsigned modes, const struct hm_config_rule *rule,
                       struct hm_error *error)
{
    char allowed[HM_MODES_LIST], whom[100] = "everybody";
    modes |= 1u << HM_MODE_OFF;
    if (modes & 1u << request->mode)
        return 0;
    if (rule)
        snprintf(whom, sizeof(whom), "%s \"%s\"", rule_name(rule->kind), rule->name);
    return hm_fail(error, EACCES, "--hybrid-mem=%.48s: %s is not allowed by the rule for %s in hybridmem.conf: use %s",
                   request->text, hm_request_mode_name(request), whom,
                   hm_modes_list(modes, " or ", allowed, sizeof(allowed)));
}

int hm_config_allows(const struct hm_config *config, const struct hm_request *request, const char *user,
                     const char *const *groups, const char *account, const char *partition, struct hm_error *error)
{
    const struct hm_config_rule *of_user = find_rule(config, HM_RULE_USER, user);
    const struct hm_config_rule *others[] = {find_rule(config, HM_RULE_ACCOUNT, account),
                                             find_rule(config, HM_RULE_PARTITION, partition)};
    bool has_rule = of_user != NULL;

    if (of_user && check_modes(request, of_user->modes, of_user, error) < 0)
        return -1;
    for (int i = 0; !of_user && groups && groups[i]; i++) {
        const struct hm_config_rule *of_group = find_rule(config, HM_RULE_GROUP, groups[i]);
        has_rule = has_rule || of_group;
        if (of_group && check_modes(request, of_group->modes, of_group, error) < 0)
            return -1;
    }
    if (!has_rule && check_modes(request, config->default_modes, NULL, error) < 0)
        return -1;
    for (int i = 0; i < N_ROWS(others); i++)
        if (others[i] && others[i]->has_modes && check_modes(request, others[i]->modes, others[i], error) < 0)
            return -1;
    return 0;
}

const char *hm_config_group_against(const struct hm_config *config, const struct hm_request *request, const char *user,
                                    int *at)
{
    if (request->mode == HM_MODE_OFF || find_rule(config, HM_RULE_USER, user))
        return NULL;
    while (*at < config->n_rules) {
        const struct hm_config_rule *rule = &config->rule[(*at)++];
        if (rule->kind == HM_RULE_GROUP && check_modes(request, rule->modes, rule, NULL) < 0)
            return rule->name;
    }
    return NULL;
}

uint64_t hm_config_keep_share(const struct hm_config *config, uint64_t region_bytes)
{
    return (uint64_t)((double)region_bytes * config->keep_percent / 100);
}

bool hm_config_has_qos(const struct hm_config *config)
{
    for (int i = 0; i < config->n_rules; i++)
        if (config->rule[i].kind == HM_RULE_QOS)
            return true;
    return false;
}

uint64_t hm_config_weight(const struct hm_config *config, const char *qos, const char *account, const char *partition)
{
    const struct hm_config_rule *const rules[] = {find_rule(config, HM_RULE_QOS, qos),
                                                  find_rule(config, HM_RULE_ACCOUNT, account),
                                                  find_rule(config, HM_RULE_PARTITION, partition)};
    for (int i = 0; i < N_ROWS(rules); i++)
        if (rules[i] && rules[i]->weight > 0)
            return rules[i]->weight;
    return 1;
}

const char *hm_config_default_mode(const struct hm_config *config, const char *partition)
{
    const struct hm_config_rule *rule = find_rule(config, HM_RULE_PARTITION, partition);
    return rule && rule->default_mode[0] ? rule->default_mode : NULL;
}

bool hm_config_default_is_allowed(const struct hm_config_rule *rule)
{
    struct hm_request request;
    if (!rule->default_mode[0] || !rule->has_modes || hm_request_parse(rule->default_mode, &request, NULL) != 0)
        return true;
    return check_modes(&request, rule->modes, rule, NULL) == 0;
}
