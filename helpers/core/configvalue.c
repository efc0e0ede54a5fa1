/* SPDX-License-Identifier: Apache-2.0 */
#include "configvalue.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "size.h"

#define N_ROWS(table) (int)(sizeof(table) / sizeof((table)[0]))

#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"

struct row;

/* Read `value` into the field at `field`. */
typedef int set_value(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error);

struct row {
    enum hm_section section;
    const char *word;
    set_value *set;
    size_t offset;              /* of the field in hm_config, or in the section's entry */
    uint64_t least, most;       /* numbers and times: the range; texts: `most` is the field's size */
    const char *const *choices; /* in the order of the enum, from `least` on; amounts: the unit */
};

static int set_choice(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    char list[128] = "";
    (void)is_first;
    for (int i = 0; row->choices[i]; i++) {
        size_t used = strlen(list);
        if (strcmp(value, row->choices[i]) == 0) {
            int chosen = i + (int)row->least;
            memcpy(field, &chosen, sizeof(chosen));
            return 0;
        }
        snprintf(list + used, sizeof(list) - used, "%s%s",
                 i == 0                ? ""
                 : row->choices[i + 1] ? ", "
                                       : " or ",
                 row->choices[i]);
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is not one of its values: use %s", value, list);
}

static int set_yes_no(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)row, (void)is_first;
    if (strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
        return hm_fail(error, EINVAL, "\"%.40s\" is not one of its values: use yes or no", value);
    *(bool *)field = value[0] == 'y';
    return 0;
}

static int set_name(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    size_t length = strlen(value);
    if (length == 0 || length >= row->most || value[strspn(value, NAME_BYTES)] != '\0')
        return hm_fail(error, EINVAL, "\"%.80s\" is not a name: use 1 to %u letters, digits, dots, - and _", value,
                       (unsigned)row->most - 1);
    memcpy(field, value, length + 1);
    return 0;
}

static int set_folder(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    size_t length = strlen(value);
    if (value[0] != '/')
        return hm_fail(error, EINVAL, "\"%.80s\" is a relative path: write it from / on", value);
    if (strstr(value, "/../") || (length >= 3 && strcmp(value + length - 3, "/..") == 0))
        return hm_fail(error, EINVAL, "\"%.80s\" goes through ..: write the path without it", value);
    if (length >= row->most)
        return hm_fail(error, EINVAL, "\"%.80s...\" is too long: a path here has at most %u characters", value,
                       (unsigned)row->most - 1);
    memcpy(field, value, length + 1);
    return 0;
}

/* Milliseconds, or seconds where the row's range is in seconds: see the table. */
static int set_duration(const struct row *row, void *field, const char *value, struct hm_error *error, unsigned unit_ms)
{
    uint64_t milliseconds;
    if (hm_size_parse_duration(value, &milliseconds, error) < 0)
        return -1;
    uint64_t number = milliseconds / unit_ms;
    if (milliseconds % unit_ms || number < row->least || number > row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use %llu to %llu %s", value,
                       (unsigned long long)row->least, (unsigned long long)row->most,
                       unit_ms == 1 ? "ms" : "whole seconds");
    *(unsigned *)field = (unsigned)number;
    return 0;
}

static int set_milliseconds(const struct row *row, void *field, const char *value, bool is_first,
                            struct hm_error *error)
{
    (void)is_first;
    return set_duration(row, field, value, error, 1);
}

static int set_seconds(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    return set_duration(row, field, value, error, 1000);
}

static int set_percent(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    double percent;
    (void)is_first;
    if (hm_size_parse_percent(value, &percent, error) < 0)
        return -1;
    if (percent > (double)row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use 0%% to %u%%", value, (unsigned)row->most);
    *(double *)field = percent;
    return 0;
}

/* 0.001 to row->most: 0 stands for a figure that is not said, and with less `config show` would need an exponent. */
static int set_amount(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    double amount;
    const char *unit = row->choices[0];
    (void)is_first;
    if (hm_size_parse_amount(value, unit, &amount, error) < 0)
        return -1;
    if (amount < 0.001 || amount > (double)row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use 0.001%s to %u%s", value, unit,
                       (unsigned)row->most, unit);
    *(double *)field = amount;
    return 0;
}

static int set_number(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    (void)is_first;
    return hm_size_parse_number(value, row->least, row->most, field, error);
}

static int set_size(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    uint64_t bytes;
    char least[24], most[24];
    (void)is_first;
    if (hm_size_parse(value, &bytes, error) < 0)
        return -1;
    if (bytes < row->least || bytes > row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is out of range: use %s to %s", value,
                       hm_size_format(row->least, least, sizeof(least)), hm_size_format(row->most, most, sizeof(most)));
    memcpy(field, &bytes, sizeof(bytes));
    return 0;
}

static int set_modes(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_request request;
    (void)row;
    for (int i = 0; hm_request_mode_at(i); i++) {
        if (strcmp(value, hm_request_mode_at(i)) == 0) {
            *(unsigned *)field = (is_first ? 0 : *(unsigned *)field) | 1u << i;
            return 0;
        }
    }
    /* Not an available mode: the parser knows why. A text with a comma is a request, but no mode. */
    if (hm_request_parse(value, &request, error) == 0)
        hm_fail(error, EINVAL, "\"%.40s\" is not a mode: write modes without keys, as in { spill, fast }", value);
    return -1;
}

static int set_request(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_request request;
    (void)row, (void)is_first;
    if (hm_request_parse(value, &request, error) < 0)
        return -1;
    /* Its library is loaded into every program, and not every program starts with it. */
    if (request.mode == HM_MODE_ISOLATE)
        return hm_fail(error, EINVAL,
                       "\"%.40s\" cannot be a default: it changes programs, and some end by that: use a mode that only "
                       "places memory, as spill or migrate",
                       value);
    memcpy(field, request.text, sizeof(request.text));
    return 0;
}

static int set_migrate(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_config_migrate *migrate = field;
    (void)row, (void)is_first;
    if (hm_request_parse_keys(value, &migrate->keys, error) < 0)
        return -1;
    snprintf(migrate->text, sizeof(migrate->text), "%s", value);
    return 0;
}

static int set_nodes(const struct row *row, void *field, const char *value, bool is_first, struct hm_error *error)
{
    struct hm_set *nodes = field;
    (void)row, (void)is_first;
    if (hm_set_parse(nodes, value, error) < 0)
        return -1;
    if (hm_set_is_empty(nodes))
        return hm_fail(error, EINVAL, "the list of nodes is empty: write NUMA node numbers, as in \"0-1\"");
    return 0;
}

static const char *const who[] = {"requested", "all", NULL};
static const char *const levels[] = {"error", "warning", "info", "debug", NULL};
static const char *const kinds[] = {"dram", "pmem", "cxl", "hbm", NULL};
static const char *const filesystems[] = {"ext4", "xfs", NULL};
static const char *const maps[] = {"dram", "pmem", NULL};
static const char *const rams[] = {"none", "movable", "normal", NULL};
static const char *const programs[] = {"none", "papi", "slurm", "all", NULL};
/* Fields that a job's owner cannot write: what he could write, a reader could not believe. */
static const char *const summaries[] = {"none", "AdminComment", "SystemComment", NULL};
static const char *const watts[] = {"W", NULL};
static const char *const picojoules[] = {"pJ/bit", NULL};
static const char *const channels[] = {"shared", "separate", NULL};

#define TOP(word, set, field, least, most, choices)                                                                    \
    {                                                                                                                  \
        HM_SECTION_TOP, word, set, offsetof(struct hm_config, field), least, most, choices                             \
    }
#define TIER(word, set, field, least, most, choices)                                                                   \
    {                                                                                                                  \
        HM_SECTION_TIER, word, set, offsetof(struct hm_config_tier, field), least, most, choices                       \
    }
#define RULE(section)                                                                                                  \
    {                                                                                                                  \
        section, "modes", set_modes, offsetof(struct hm_config_rule, modes), 0, 0, NULL                                \
    }
#define FIELD(field) sizeof(((struct hm_config *)0)->field)

static const struct row rows[] = {
    TOP("enabled", set_yes_no, enabled, 0, 0, NULL),
    TOP("record", set_choice, record, 0, 0, who),
    TOP("record_dir", set_folder, record_dir, 0, FIELD(record_dir), NULL),
    TOP("record_group", set_name, record_group, 0, FIELD(record_group), NULL),
    TOP("state_dir", set_folder, state_dir, 0, FIELD(state_dir), NULL),
    TOP("run_dir", set_folder, run_dir, 0, FIELD(run_dir), NULL),
    TOP("cluster", set_name, cluster, 0, FIELD(cluster), NULL),
    TOP("interval", set_milliseconds, interval_ms, 10, 3600 * 1000, NULL),
    TOP("reserve", set_percent, reserve_percent, 0, 50, NULL),
    TOP("reap_grace", set_seconds, reap_grace_s, 0, 7 * 24 * 3600, NULL),
    TOP("log_level", set_choice, log_level, 0, 0, levels),
    TOP("modes", set_modes, default_modes, 0, 0, NULL),
    TOP("migrate", set_migrate, migrate, 0, 0, NULL),
    TOP("fsdax_fs", set_choice, fsdax_fs, 0, 0, filesystems),
    TOP("fsdax_map", set_choice, fsdax_map, 0, 0, maps),
    TOP("fsdax_wipe_limit", set_seconds, fsdax_wipe_limit_s, 0, 24 * 3600, NULL),
    TOP("fsdax_keep_share", set_percent, keep_percent, 0, 100, NULL),
    TOP("fsdax_keep_quota", set_size, keep_quota_bytes, UINT64_C(32) << 20, UINT64_C(1) << 50, NULL),
    TOP("fsdax_keep_age", set_seconds, keep_age_s, 60, 366 * 24 * 3600, NULL),
    TOP("ram", set_choice, ram, 0, 0, rams),
    TOP("resctrl", set_yes_no, resctrl, 0, 0, NULL),
    TOP("resctrl_dir", set_folder, resctrl_dir, 0, FIELD(resctrl_dir), NULL),
    TOP("meter_programs", set_choice, meter_programs, 0, 0, programs),
    TOP("spool_dir", set_folder, spool_dir, 0, FIELD(spool_dir), NULL),
    TOP("summary_field", set_choice, summary_field, 0, 0, summaries),
    TOP("summary_rate", set_number, summary_rate, 1, 6000, NULL),
    TOP("collect_wait", set_seconds, collect_wait_s, 0, 24 * 3600, NULL),
    TIER("nodes", set_nodes, nodes, 0, 0, NULL),
    TIER("kind", set_choice, kind, HM_KIND_DRAM, 0, kinds),
    TIER("read_latency", set_number, read_latency_ns, 1, 1000000, NULL),
    TIER("read_bandwidth", set_number, read_bandwidth_mbs, 1, 1000000000, NULL),
    TIER("write_bandwidth", set_number, write_bandwidth_mbs, 1, 1000000000, NULL),
    TIER("static_power", set_amount, energy.static_w, 0, 1000000, watts),
    TIER("read_energy", set_amount, energy.read_pj_bit, 0, 1000000, picojoules),
    TIER("write_energy", set_amount, energy.write_pj_bit, 0, 1000000, picojoules),
    {HM_SECTION_CHANNELS, "kind", set_choice, offsetof(struct hm_config_channels, channels), 0, 0, channels},
    RULE(HM_SECTION_USER),
    RULE(HM_SECTION_GROUP),
    RULE(HM_SECTION_ACCOUNT),
    RULE(HM_SECTION_PARTITION),
    {HM_SECTION_PARTITION, "default_mode", set_request, offsetof(struct hm_config_rule, default_mode), 0, 0, NULL},
};
_Static_assert(sizeof(enum hm_record_who) == sizeof(int), "set_choice writes enums as int");

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
            *is_list = rows[i].set == set_modes;
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

/* A node may be in one tier only, which the setter of one field cannot see. */
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

int hm_configvalue_set(struct hm_config *config, enum hm_section section, int entry, const char *word,
                       const char *value, bool is_first, struct hm_error *error)
{
    void *base = section == HM_SECTION_TOP        ? (void *)config
                 : section == HM_SECTION_TIER     ? (void *)&config->tier[entry]
                 : section == HM_SECTION_CHANNELS ? (void *)&config->channels[entry]
                                                  : (void *)&config->rule[entry];
    const struct row *row = NULL;
    for (int i = 0; i < N_ROWS(rows) && !row; i++)
        if (rows[i].section == section && strcmp(rows[i].word, word) == 0)
            row = &rows[i];
    if (!row)
        return hm_fail(error, EINVAL, "\"%.40s\" is not known here", word);
    if (row->set(row, (char *)base + row->offset, value, is_first, error) < 0)
        return -1;
    if (row->set == set_modes && hm_configvalue_is_rule(section))
        config->rule[entry].has_modes = true;
    if (row->set == set_nodes) {
        config->tier[entry].has_nodes = true;
        return check_overlap(config, entry, error);
    }
    return 0;
}

int hm_configvalue_finish(const struct hm_config *config, enum hm_section section, int entry, struct hm_error *error)
{
    if (section != HM_SECTION_TIER)
        return 0;
    const struct hm_energy_model *energy = &config->tier[entry].energy;
    bool has_reads = energy->read_pj_bit > 0, has_writes = energy->write_pj_bit > 0;
    if (has_reads == has_writes)
        return 0;
    return hm_fail(error, EINVAL, "%s without %s: give both, or none of them",
                   has_reads ? "read_energy" : "write_energy", has_reads ? "write_energy" : "read_energy");
}
