/* SPDX-License-Identifier: Apache-2.0 */
#include "tiertext.h"

#include <errno.h>
#include <string.h>

#include "base/size.h"

#define TEXT 128
#define MOST_NS 1e6 /* more is no memory */
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

enum { NAME, SIZE, READ, WRITE, FIELDS };

/* Cuts the text at its colons. Returns 0, or -1. */
static int cut(const char *text, char *copy, const char **field, struct hm_error *error)
{
    size_t n = 0;
    char *rest = copy;
    bool fits = strlen(text) < TEXT;
    if (fits)
        memcpy(copy, text, strlen(text) + 1);
    while (fits && rest && n < FIELDS)
        field[n++] = strsep(&rest, ":");
    if (fits && !rest && n == FIELDS)
        return 0;
    return hm_fail(
        error, EINVAL,
        "\"%.60s\" is no tier: write NAME:SIZE:READ:WRITE, as in hbm:10%%:90ns:100ns, or cxl:rest:250ns:300ns", text);
}

static int take_name(const struct hm_replay_options *options, const char *text, char *name, struct hm_error *error)
{
    size_t length = strlen(text);
    if (length == 0 || length >= HM_NAME || strspn(text, LETTERS) != length)
        return hm_fail(error, EINVAL, "\"%.40s\" is no name: use 1 to %d letters, digits, - and _", text, HM_NAME - 1);
    for (unsigned tier = 0; tier < options->n_tiers; tier++)
        if (strcmp(options->tier[tier].name, text) == 0)
            return hm_fail(error, EINVAL, "%s is there twice: give each tier a name of its own", text);
    memcpy(name, text, length + 1);
    return 0;
}

static int take_size(const struct hm_replay_options *options, const char *text, struct hm_replay_tier *tier,
                     struct hm_error *error)
{
    double percent, all = 0;
    tier->has_rest = strcmp(text, "rest") == 0;
    if (tier->has_rest)
        return 0;
    if (hm_size_parse_percent(text, &percent, error) < 0)
        return -1;
    tier->share = percent / 100;
    for (unsigned other = 0; other < options->n_tiers; other++)
        all += options->tier[other].share;
    if (all + tier->share > 1 + 1e-9)
        return hm_fail(error, EINVAL, "%s has %s, where only %.6g%% are left: use at most that", tier->name, text,
                       100 * (1 - all));
    return 0;
}

static int take_latency(const char *text, const char *what, double before, double *latency, struct hm_error *error)
{
    if (hm_size_parse_amount(text, "ns", latency, error) < 0)
        return -1;
    if (!(*latency > 0 && *latency <= MOST_NS))
        return hm_fail(error, EINVAL, "a %s of %s is out of range: use more than 0, at most %gns", what, text, MOST_NS);
    if (*latency < before * (1 - 1e-12))
        return hm_fail(error, EINVAL, "a %s of %s is faster than in the tier before: give the fastest tier first", what,
                       text);
    return 0;
}

int hm_replay_tier_add(struct hm_replay_options *options, const char *text, struct hm_error *error)
{
    char copy[TEXT] = "";
    const char *field[FIELDS] = {NULL}; /* in `copy` */
    const struct hm_replay_tier *before = options->n_tiers > 0 ? &options->tier[options->n_tiers - 1] : NULL;
    struct hm_replay_tier tier = {.has_rest = false};
    if (options->n_tiers == HM_MAX_TIERS)
        return hm_fail(error, EINVAL, "there are more than %d tiers: leave some out", HM_MAX_TIERS);
    if (before && before->has_rest)
        return hm_fail(error, EINVAL, "%s has the rest, so that no tier comes after it: give it last", before->name);
    if (cut(text, copy, field, error) < 0 || take_name(options, field[NAME], tier.name, error) < 0 ||
        take_size(options, field[SIZE], &tier, error) < 0 ||
        take_latency(field[READ], "read", before ? before->read * options->unit_ns : 0, &tier.read, error) < 0 ||
        take_latency(field[WRITE], "write", before ? before->write * options->unit_ns : 0, &tier.write, error) < 0)
        return -1;
    if (!before)
        options->unit_ns = tier.read;
    tier.read /= options->unit_ns;
    tier.write /= options->unit_ns;
    /* The quotient of what is equal up to rounding is equal. */
    if (before && tier.read < before->read)
        tier.read = before->read;
    if (before && tier.write < before->write)
        tier.write = before->write;
    options->tier[options->n_tiers++] = tier;
    return 0;
}

int hm_replay_tiers_check(const struct hm_replay_options *options, struct hm_error *error)
{
    const struct hm_replay_tier *last = options->n_tiers > 0 ? &options->tier[options->n_tiers - 1] : NULL;
    if (options->n_tiers < 2)
        return hm_fail(error, EINVAL, "there is one tier: give two or more, fastest first");
    if (!last->has_rest)
        return hm_fail(error, EINVAL, "%s is the last tier, and has no room for all: write rest instead of its size",
                       last->name);
    return 0;
}
