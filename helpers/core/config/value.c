/* SPDX-License-Identifier: Apache-2.0 */
#include "value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "field.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

static const char *const who[] = {"requested", "all", NULL};
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const filesystems[] = {"ext4", "xfs", NULL};
static const char *const maps[] = {"dram", "pmem", NULL};
static const char *const rams[] = {"none", "movable", "normal", NULL};
static const char *const fair_shares[] = {"equal", "cores", "none", NULL};
static const char *const programs[] = {"none", "papi", "slurm", "all", NULL};
/* Only fields of Slurm's database that a job's owner cannot write: what the owner can change is not to be trusted. */
static const char *const summaries[] = {"none", "AdminComment", "SystemComment", NULL};
static const char *const watts[] = {"W", NULL};
static const char *const picojoules[] = {"pJ/bit", NULL};
static const char *const channels[] = {"shared", "separate", NULL};

#define TOP(word, kind, field, least, most, choices)                                                                   \
    {                                                                                                                  \
        HM_SECTION_TOP, word, &kind, offsetof(struct hm_config, field), least, most, choices                           \
    }
#define TIER(word, kind, field, least, most, choices)                                                                  \
    {                                                                                                                  \
        HM_SECTION_TIER, word, &kind, offsetof(struct hm_config_tier, field), least, most, choices                     \
    }
#define RULE(section)                                                                                                  \
    {                                                                                                                  \
        section, "modes", &hm_field_modes, offsetof(struct hm_config_rule, modes), 0, 0, NULL                          \
    }
#define WEIGHT(section)                                                                                                \
    {                                                                                                                  \
        section, "weight", &hm_field_number, offsetof(struct hm_config_rule, weight), 1, 1000, NULL                    \
    }
#define REDFISH(word, kind, field, least, most)                                                                        \
    {                                                                                                                  \
        HM_SECTION_REDFISH, word, &kind, offsetof(struct hm_config_redfish, field), least, most, NULL                  \
    }
#define BOARD(field)                                                                                                   \
    {                                                                                                                  \
        HM_SECTION_BOARD, #field, &hm_field_text, offsetof(struct hm_config_board, field), 0, HM_CONFIG_VALUE, NULL    \
    }
#define FIELD(field) sizeof(((struct hm_config *)0)->field)

static const struct hm_configfield rows[] = {
    TOP("enabled", hm_field_yes_no, enabled, 0, 0, NULL),
    TOP("record", hm_field_choice, record, 0, 0, who),
    TOP("record_dir", hm_field_folder, record_dir, 0, FIELD(record_dir), NULL),
    TOP("record_group", hm_field_name, record_group, 0, FIELD(record_group), NULL),
    TOP("state_dir", hm_field_folder, state_dir, 0, FIELD(state_dir), NULL),
    TOP("run_dir", hm_field_folder, run_dir, 0, FIELD(run_dir), NULL),
    TOP("cluster", hm_field_name, cluster, 0, FIELD(cluster), NULL),
    TOP("interval", hm_field_milliseconds, interval_ms, 10, 3600 * 1000, NULL),
    TOP("reserve", hm_field_percent, reserve_percent, 0, 50, NULL),
    TOP("reap_grace", hm_field_seconds, reap_grace_s, 0, 7 * 24 * 3600, NULL),
    TOP("log_level", hm_field_choice, log_level, 0, 0, levels),
    TOP("modes", hm_field_modes, default_modes, 0, 0, NULL),
    TOP("migrate", hm_field_migrate, migrate, 0, 0, NULL),
    TOP("fair_share", hm_field_choice, fair_share, 0, 0, fair_shares),
    TOP("lend_samples", hm_field_yes_no, lend_samples, 0, 0, NULL),
    TOP("profile_dir", hm_field_folder, profile_dir, 0, FIELD(profile_dir), NULL),
    TOP("load", hm_field_folder, load, 0, FIELD(load), NULL),
    TOP("fsdax_fs", hm_field_choice, fsdax_fs, 0, 0, filesystems),
    TOP("fsdax_map", hm_field_choice, fsdax_map, 0, 0, maps),
    TOP("fsdax_trust", hm_field_yes_no, fsdax_trust, 0, 0, NULL),
    TOP("fsdax_wipe_limit", hm_field_seconds, fsdax_wipe_limit_s, 0, 24 * 3600, NULL),
    TOP("fsdax_keep_share", hm_field_percent, keep_percent, 0, 100, NULL),
    TOP("fsdax_keep_quota", hm_field_size, keep_quota_bytes, UINT64_C(32) << 20, UINT64_C(1) << 50, NULL),
    TOP("fsdax_keep_age", hm_field_seconds, keep_age_s, 60, 366 * 24 * 3600, NULL),
    TOP("ram", hm_field_choice, ram, 0, 0, rams),
    TOP("resctrl", hm_field_yes_no, resctrl, 0, 0, NULL),
    TOP("resctrl_dir", hm_field_folder, resctrl_dir, 0, FIELD(resctrl_dir), NULL),
    TOP("meter_programs", hm_field_choice, meter_programs, 0, 0, programs),
    TOP("spool_dir", hm_field_folder, spool_dir, 0, FIELD(spool_dir), NULL),
    TOP("summary_field", hm_field_choice, summary_field, 0, 0, summaries),
    TOP("summary_rate", hm_field_number, summary_rate, 1, 6000, NULL),
    TOP("collect_wait", hm_field_seconds, collect_wait_s, 0, 24 * 3600, NULL),
    TOP("memmode_mixed", hm_field_percent, memmode_mixed_percent, 0, 99, NULL),
    TOP("memmode_least", hm_field_seconds, memmode_least_s, 0, 366 * 24 * 3600, NULL),
    TOP("reboot_program", hm_field_folder, reboot_program, 0, FIELD(reboot_program), NULL),
    TIER("nodes", hm_field_nodes, nodes, 0, 0, NULL),
    TIER("kind", hm_field_choice, kind, HM_KIND_DRAM, 0, hm_kind_words + HM_KIND_DRAM),
    TIER("read_latency", hm_field_number, read_latency_ns, 1, 1000000, NULL),
    TIER("read_bandwidth", hm_field_number, read_bandwidth_mbs, 1, 1000000000, NULL),
    TIER("write_bandwidth", hm_field_number, write_bandwidth_mbs, 1, 1000000000, NULL),
    TIER("static_power", hm_field_amount, energy.static_w, 0, 1000000, watts),
    TIER("read_energy", hm_field_amount, energy.read_pj_bit, 0, 1000000, picojoules),
    TIER("write_energy", hm_field_amount, energy.write_pj_bit, 0, 1000000, picojoules),
    {HM_SECTION_CHANNELS, "kind", &hm_field_choice, offsetof(struct hm_config_channels, channels), 0, 0, channels},
    REDFISH("system", hm_field_name, system, 0, HM_CONFIG_VALUE),
    REDFISH("credentials", hm_field_folder, credentials, 0, HM_CONFIG_PATH_MAX),
    REDFISH("ca", hm_field_folder, ca, 0, HM_CONFIG_PATH_MAX),
    REDFISH("verify", hm_field_yes_no, verify, 0, 0),
    REDFISH("timeout", hm_field_seconds, timeout_s, 1, 300),
    BOARD(manufacturer),
    BOARD(model),
    BOARD(attribute),
    BOARD(flat),
    BOARD(cache),
    BOARD(mixed),
    RULE(HM_SECTION_USER),
    RULE(HM_SECTION_GROUP),
    RULE(HM_SECTION_ACCOUNT),
    RULE(HM_SECTION_PARTITION),
    WEIGHT(HM_SECTION_ACCOUNT),
    WEIGHT(HM_SECTION_PARTITION),
    WEIGHT(HM_SECTION_QOS),
    {HM_SECTION_PARTITION, "default_mode", &hm_field_request, offsetof(struct hm_config_rule, default_mode), 0, 0,
     NULL},
};
_Static_assert(sizeof(enum hm_record_who) == sizeof(int), "hm_field_choice writes enums as int");

const char *hm_dax_fs_name(enum hm_dax_fs filesystem)
{
    return filesystems[filesystem];
}

const char *hm_dax_map_name(enum hm_dax_map map)
{
    return maps[map];
}

const char *hm_slow_ram_name(enum hm_slow_ram ram)
{
    return rams[ram];
}

const char *hm_meter_programs_name(enum hm_meter_programs chosen)
{
    return programs[chosen];
}

const char *hm_summary_name(enum hm_summary summary)
{
    return summaries[summary];
}

const char *hm_configvalue_word(enum hm_section section, int n, bool *is_list)
{
    for (int i = 0; i < N_ROWS(rows); i++) {
        if (rows[i].section != section || n-- > 0)
            continue;
        if (is_list)
            *is_list = rows[i].kind == &hm_field_modes;
        return rows[i].word;
    }
    return NULL;
}

char *hm_configvalue_words(enum hm_section section, char *out, size_t size)
{
    const char *words[N_ROWS(rows) + HM_SECTIONS];
    int n = 0;
    size_t used = 0;
    for (const char *word; (word = hm_configvalue_word(section, n, NULL));)
        words[n++] = word;
    for (int i = HM_SECTION_TOP + 1; section == HM_SECTION_TOP && i < HM_SECTIONS; i++)
        words[n++] = hm_configvalue_section_name((enum hm_section)i);
    out[0] = '\0';
    for (int i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s", i == 0 ? "" : i == n - 1 ? " or " : ", ", words[i]);
    return out;
}

/* Check that no node is in two tiers. The function that reads the value cannot do it, as it sees one tier only. */
static int check_overlap(const struct hm_config *config, int entry, struct hm_error *error)
{
    char list[60];
    for (int i = 0; i < config->n_tiers; i++) {
        struct hm_set both = config->tier[entry].nodes;
        hm_set_intersect(&both, &config->tier[i].nodes);
        if (i != entry && !hm_set_is_empty(&both))
            return hm_fail(error, EINVAL, "node %s is in tier \"%s\" too: a node is in one tier",
                           hm_set_format(&both, list, sizeof(list)), config->tier[i].name);
    }
    return 0;
}

static const struct hm_configfield *find_row(enum hm_section section, const char *word)
{
    for (int i = 0; i < N_ROWS(rows); i++)
        if (rows[i].section == section && strcmp(rows[i].word, word) == 0)
            return &rows[i];
    return NULL;
}

/* Offset of the row's field in hm_config. */
static size_t place_of(const struct hm_configfield *row, int entry)
{
    size_t start = 0;
    if (row->section == HM_SECTION_TIER)
        start = offsetof(struct hm_config, tier) + (size_t)entry * sizeof(struct hm_config_tier);
    else if (row->section == HM_SECTION_CHANNELS)
        start = offsetof(struct hm_config, channels) + (size_t)entry * sizeof(struct hm_config_channels);
    else if (row->section == HM_SECTION_REDFISH)
        start = offsetof(struct hm_config, redfish);
    else if (row->section == HM_SECTION_BOARD)
        start = offsetof(struct hm_config, board) + (size_t)entry * sizeof(struct hm_config_board);
    else if (hm_configvalue_is_rule(row->section))
        start = offsetof(struct hm_config, rule) + (size_t)entry * sizeof(struct hm_config_rule);
    return start + row->offset;
}

int hm_configvalue_set(struct hm_config *config, enum hm_section section, int entry, const char *word,
                       const char *value, bool is_first, struct hm_error *error)
{
    const struct hm_configfield *row = find_row(section, word);
    if (!row)
        return hm_fail(error, EINVAL, "\"%.40s\" is not known here", word);
    if (row->kind->read(row, (char *)config + place_of(row, entry), value, is_first, error) < 0)
        return -1;
    if (row->kind == &hm_field_modes && hm_configvalue_is_rule(section))
        config->rule[entry].has_modes = true;
    if (row->kind == &hm_field_nodes) {
        config->tier[entry].has_nodes = true;
        return check_overlap(config, entry, error);
    }
    return 0;
}

bool hm_configvalue_write(const struct hm_config *config, enum hm_section section, int entry, const char *word,
                          char *out, size_t size)
{
    const struct hm_configfield *row = find_row(section, word);
    return row && row->kind->write(row, (const char *)config + place_of(row, entry), out, size);
}

/* Reads and writes of a tier have figures together, or neither has. */
static int finish_tier(const struct hm_config_tier *tier, struct hm_error *error)
{
    bool has_reads = tier->energy.read_pj_bit > 0, has_writes = tier->energy.write_pj_bit > 0;
    if (has_reads == has_writes)
        return 0;
    return hm_fail(error, EINVAL, "%s without %s: give both, or none of them",
                   has_reads ? "read_energy" : "write_energy", has_reads ? "write_energy" : "read_energy");
}

static int finish_board(const struct hm_config_board *board, struct hm_error *error)
{
    if (!board->manufacturer[0] || !board->attribute[0] || !board->flat[0] || !board->cache[0])
        return hm_fail(error, EINVAL, "it has to give manufacturer, attribute, flat and cache");
    if (strcmp(board->flat, board->cache) == 0 || strcmp(board->flat, board->mixed) == 0 ||
        strcmp(board->cache, board->mixed) == 0)
        return hm_fail(error, EINVAL, "two of flat, cache and mixed are the same: give a value for each mode");
    return 0;
}

int hm_configvalue_finish(const struct hm_config *config, enum hm_section section, int entry, struct hm_error *error)
{
    if (section == HM_SECTION_TIER)
        return finish_tier(&config->tier[entry], error);
    if (section == HM_SECTION_BOARD)
        return finish_board(&config->board[entry], error);
    if (section == HM_SECTION_REDFISH && !config->redfish.credentials[0])
        return hm_fail(error, EINVAL, "it has to give credentials: a file with the user's name and the password");
    return 0;
}
