/* SPDX-License-Identifier: Apache-2.0 */
#include "optionvalue.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "migrator/decide/decide.h"
#include "migrator/sources/source.h"
#include "optiontiers.h"

#define HOUR_MS (UINT64_C(3600) * 1000)

static void *field_of(const struct hm_option *row, struct hm_options *options)
{
    return (char *)options + row->offset;
}

int hm_option_text(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    (void)error;
    *(const char **)field_of(row, options) = value;
    return 0;
}

int hm_option_number(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_size_parse_number(value, row->least, row->most, field_of(row, options), error);
}

int hm_option_small(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t number;
    if (hm_size_parse_number(value, row->least, row->most, &number, error) != 0)
        return -1;
    uint32_t small = (uint32_t)number;
    memcpy(field_of(row, options), &small, sizeof(small));
    return 0;
}

int hm_option_size(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_size_parse(value, field_of(row, options), error);
}

int hm_option_nodes(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    return hm_set_parse(field_of(row, options), value, error);
}

int hm_option_latency(const struct hm_option *row, struct hm_options *options, const char *value,
                      struct hm_error *error)
{
    return hm_latency_parse(value, row->least, row->most, field_of(row, options), error);
}

int hm_option_middle_tier(const struct hm_option *row, struct hm_options *options, const char *value,
                          struct hm_error *error)
{
    (void)row;
    if (options->n_middle == HM_OPTIONS_MIDDLE)
        return hm_fail(error, EINVAL, "\"%.40s\" is one tier too many: at most %d, with the fast and the slow one",
                       value, HM_MAX_TIERS);
    return hm_middle_tier_parse(value, &options->middle[options->n_middle++], error);
}

int hm_option_pid(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    uint64_t pid;
    if (hm_size_parse_number(value, row->least, row->most, &pid, error) != 0)
        return -1;
    if (options->n_pids == HM_OPTIONS_PIDS)
        return hm_fail(error, EINVAL, "\"%.40s\" is one process too many: at most %d", value, HM_OPTIONS_PIDS);
    options->pid[options->n_pids++] = (pid_t)pid;
    return 0;
}

/* A step's number is 0 or more, so another field says that it was given. */
int hm_option_step(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    options->has_job = true;
    return hm_option_small(row, options, value, error);
}

int hm_option_cap(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    (void)row;
    options->cap_bytes = UINT64_MAX;
    options->cap_percent = -1;
    if (strchr(value, '%'))
        return hm_size_parse_percent(value, &options->cap_percent, error);
    return hm_size_parse(value, &options->cap_bytes, error);
}

int hm_option_algorithm(const struct hm_option *row, struct hm_options *options, const char *value,
                        struct hm_error *error)
{
    const char *name, *about;
    (void)row;
    for (int i = 0; hm_algorithm_at(i, &name, &about); i++) {
        if (strcmp(name, value) == 0) {
            options->algorithm = name;
            return 0;
        }
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is no algorithm", value);
}

int hm_option_hot_by(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    (void)row;
    options->hot_by_writes = strcmp(value, "writes") == 0;
    if (options->hot_by_writes || strcmp(value, "accesses") == 0)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" makes nothing hot: use accesses or writes", value);
}

int hm_option_source(const struct hm_option *row, struct hm_options *options, const char *value, struct hm_error *error)
{
    char names[128];
    (void)row;
    options->source = value;
    if (strcmp(value, "auto") == 0)
        return 0;
    for (int i = 0; hm_source_at(i); i++)
        if (strcmp(hm_source_at(i)->name, value) == 0)
            return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is no source: use %s", value, hm_source_names(names, sizeof(names)));
}

int hm_option_interval(const struct hm_option *row, struct hm_options *options, const char *value,
                       struct hm_error *error)
{
    if (hm_size_parse_duration(value, &options->interval_ms, error) != 0)
        return -1;
    if (options->interval_ms < row->least || options->interval_ms > row->most)
        return hm_fail(error, ERANGE, "\"%.40s\" is not a time of %" PRIu64 "ms to %" PRIu64 "h", value, row->least,
                       row->most / HOUR_MS);
    return 0;
}

int hm_option_overhead(const struct hm_option *row, struct hm_options *options, const char *value,
                       struct hm_error *error)
{
    (void)row;
    int result = hm_size_parse_percent(value, &options->overhead, error);
    options->overhead /= 100;
    return result;
}
