/* SPDX-License-Identifier: Apache-2.0 */
#include "spoolentry.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "core/request/request.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define MOST_ID UINT32_MAX
#define MOST_TIME UINT64_C(253402300799) /* the last second of the year 9999 */

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define NAME_BYTES LETTERS "._-@+"
#define NODE_BYTES LETTERS "._-[],"

/* The environment variable in which slurmctld gives the plugin's option to its scripts. */
#define OPTION_VARIABLE "SPANK__SLURM_SPANK_OPTION_hybridmem_hybrid_mem"

/* The numbers that slurmctld gives in the environment, and their ranges. */
static const struct {
    const char *variable;
    size_t offset;
    uint64_t least, most;
    bool is_needed;
} numbers[] = {
#define NUMBER(variable, field, least, most, is_needed)                                                                \
    {                                                                                                                  \
        variable, offsetof(struct hm_spool_entry, field), least, most, is_needed                                       \
    }
    NUMBER("SLURM_JOB_ID", job_id, 1, MOST_ID, true),
    NUMBER("SLURM_ARRAY_JOB_ID", array_job_id, 1, MOST_ID, false),
    NUMBER("SLURM_ARRAY_TASK_ID", array_task_id, 0, MOST_ID, false),
    NUMBER("SLURM_HET_JOB_ID", het_job_id, 1, MOST_ID, false),
    NUMBER("SLURM_HET_JOB_OFFSET", het_job_offset, 0, MOST_ID, false),
    NUMBER("SLURM_JOB_RESTART_COUNT", restart_count, 0, MOST_ID, false),
    NUMBER("SLURM_JOB_UID", uid, 0, MOST_ID, true),
    NUMBER("SLURM_JOB_START_TIME", start_s, 1, MOST_TIME, false),
    NUMBER("SLURM_JOB_END_TIME", end_s, 1, MOST_TIME, false),
#undef NUMBER
};

static int read_numbers(struct hm_spool_entry *entry, hm_spool_lookup *lookup, void *data, struct hm_error *error)
{
    for (size_t i = 0; i < N_ROWS(numbers); i++) {
        struct hm_error why;
        const char *text = lookup(numbers[i].variable, data);
        uint64_t number = HM_SPOOL_ABSENT;
        if (!text && numbers[i].is_needed)
            return hm_fail(error, EINVAL, "%s is not set: this is run by slurmctld, as EpilogSlurmctld",
                           numbers[i].variable);
        if (text && hm_size_parse_number(text, numbers[i].least, numbers[i].most, &number, &why) != 0)
            return hm_fail(error, EINVAL, "%s: %s", numbers[i].variable, why.text);
        memcpy((char *)entry + numbers[i].offset, &number, sizeof(number));
    }
    return 0;
}

static int read_cluster(struct hm_spool_entry *entry, hm_spool_lookup *lookup, void *data, struct hm_error *error)
{
    const char *text = lookup("SLURM_CLUSTER_NAME", data);
    size_t length = text ? strlen(text) : 0;
    if (length >= HM_SPOOL_NAME || (text && strspn(text, NAME_BYTES) != length))
        return hm_fail(error, EINVAL,
                       "SLURM_CLUSTER_NAME: \"%.80s\" is not a name of at most %d letters, digits and any of ._-@+",
                       text, HM_SPOOL_NAME - 1);
    memcpy(entry->cluster, text ? text : "", length + 1);
    return 0;
}

/* Some numbers make sense only in pairs: drop those whose partner is missing. Fill in defaults for others. */
static void complete(struct hm_spool_entry *entry, uint64_t now_s)
{
    if (entry->array_job_id == HM_SPOOL_ABSENT || entry->array_task_id == HM_SPOOL_ABSENT)
        entry->array_job_id = entry->array_task_id = HM_SPOOL_ABSENT;
    if (entry->het_job_id == HM_SPOOL_ABSENT || entry->het_job_offset == HM_SPOOL_ABSENT)
        entry->het_job_id = entry->het_job_offset = HM_SPOOL_ABSENT;
    if (entry->restart_count == HM_SPOOL_ABSENT)
        entry->restart_count = 0;
    if (entry->end_s == HM_SPOOL_ABSENT)
        entry->end_s = now_s;
}

/* Is a record of the job expected? Unless all jobs are recorded, a job without a mode or of the mode off has none. A
 * job whose request is not valid has one, but nobody waits for it: users could make others wait by such requests. */
static bool expects_record(const struct hm_config *config, hm_spool_lookup *lookup, void *data)
{
    struct hm_request request;
    const char *option = lookup(OPTION_VARIABLE, data);
    if (config->record == HM_RECORD_ALL)
        return true;
    if (!option)
        option = hm_config_default_mode(config, lookup("SLURM_JOB_PARTITION", data));
    return option && hm_request_parse(option, &request, NULL) == 0 && hm_request_wants(&request, HM_WANTS_ANYTHING);
}

int hm_spool_entry_read(struct hm_spool_entry *entry, const struct hm_config *config, hm_spool_lookup *lookup,
                        void *data, uint64_t now_s, struct hm_error *error)
{
    const char *nodes = lookup("SLURM_JOB_NODELIST", data);
    memset(entry, 0, sizeof(*entry));
    if (read_numbers(entry, lookup, data, error) != 0 || read_cluster(entry, lookup, data, error) != 0)
        return -1;
    complete(entry, now_s);
    /* slurmctld writes "(null)" for a job that was cancelled before it got a node. */
    if (!nodes || !nodes[0] || strcmp(nodes, "(null)") == 0)
        return 1;
    if (strlen(nodes) >= HM_SPOOL_NODES || nodes[strspn(nodes, NODE_BYTES)] != '\0')
        return hm_fail(error, EINVAL,
                       "SLURM_JOB_NODELIST: \"%.80s\" is not a list of nodes like n[1-3,7], of at most %d bytes", nodes,
                       HM_SPOOL_NODES - 1);
    entry->nodes = nodes;
    entry->is_asked = expects_record(config, lookup, data);
    return 0;
}

static json_t *number_or_null(uint64_t number)
{
    return number == HM_SPOOL_ABSENT ? json_null() : json_integer((json_int_t)number);
}

char *hm_spool_entry_format(const struct hm_spool_entry *entry)
{
    json_t *object = json_pack(
        "{s:i, s:I, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:I, s:s, s:b}", "spool", HM_SPOOL_SCHEMA, "job_id",
        (json_int_t)entry->job_id, "array_job_id", number_or_null(entry->array_job_id), "array_task_id",
        number_or_null(entry->array_task_id), "het_job_id", number_or_null(entry->het_job_id), "het_job_offset",
        number_or_null(entry->het_job_offset), "restart_count", (json_int_t)entry->restart_count, "uid",
        (json_int_t)entry->uid, "cluster", entry->cluster[0] ? json_string(entry->cluster) : json_null(), "start_s",
        number_or_null(entry->start_s), "end_s", (json_int_t)entry->end_s, "nodes", entry->nodes, "asked",
        entry->is_asked);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    json_decref(object);
    return text;
}
