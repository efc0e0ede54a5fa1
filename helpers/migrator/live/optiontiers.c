/* SPDX-License-Identifier: Apache-2.0 */
#include "optiontiers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 512 /* more than the longest list that a step's migrator gets (HM_JOB_CGROUP), with its latencies */
#define FORM "write LIST, LIST:READ or LIST:READ:WRITE, as in 2,3 or 2,3:1.5:2"

int hm_latency_parse(const char *text, uint64_t least, uint64_t most, double *latency, struct hm_error *error)
{
    char *end;
    if (text[strspn(text, "0123456789.")] == '\0') {
        *latency = strtod(text, &end);
        if (end > text && *end == '\0' && *latency >= (double)least && *latency <= (double)most)
            return 0;
    }
    return hm_fail(error, EINVAL, "\"%.40s\" is not a latency relative to the fast tier's: %" PRIu64 " to %" PRIu64,
                   text, least, most);
}

int hm_middle_tier_parse(const char *text, struct hm_middle_tier *tier, struct hm_error *error)
{
    char copy[TEXT], *rest = copy;
    bool fits = strlen(text) < sizeof(copy);
    *tier = (struct hm_middle_tier){.text = text};
    memcpy(copy, text, fits ? strlen(text) + 1 : 0);
    const char *list = fits ? strsep(&rest, ":") : NULL;
    const char *read = fits ? strsep(&rest, ":") : NULL, *write = fits ? strsep(&rest, ":") : NULL;
    if (!fits || rest)
        return hm_fail(error, EINVAL, "\"%.40s\" is no tier: " FORM, text);
    if (hm_set_parse(&tier->nodes, list, error) != 0)
        return -1;
    if (hm_set_is_empty(&tier->nodes))
        return hm_fail(error, EINVAL, "\"%.40s\" has no node: " FORM, text);
    if (read && hm_latency_parse(read, 1, HM_OPTIONS_MOST_LATENCY, &tier->lat_read, error) != 0)
        return -1;
    return write ? hm_latency_parse(write, 1, HM_OPTIONS_MOST_LATENCY, &tier->lat_write, error) : 0;
}

unsigned hm_options_tiers(const struct hm_options *options, struct hm_set nodes[HM_MAX_TIERS])
{
    unsigned n = 0;
    nodes[n++] = options->fast;
    for (unsigned i = 0; i < options->n_middle; i++)
        nodes[n++] = options->middle[i].nodes;
    nodes[n++] = options->slow;
    return n;
}

void hm_options_latencies(const struct hm_options *options, double read[HM_MAX_TIERS], double write[HM_MAX_TIERS])
{
    unsigned last = options->n_middle + 1;
    read[0] = write[0] = 1;
    for (unsigned tier = 1; tier < last; tier++) {
        const struct hm_middle_tier *given = &options->middle[tier - 1];
        double part = (double)tier / last;
        read[tier] = given->lat_read > 0 ? given->lat_read : 1 + part * (options->lat_read - 1);
        write[tier] = given->lat_write > 0 ? given->lat_write : 1 + part * (options->lat_write - 1);
    }
    read[last] = options->lat_read;
    write[last] = options->lat_write;
}

int hm_options_check_tiers(const struct hm_options *options, struct hm_error *error)
{
    double read[HM_MAX_TIERS], write[HM_MAX_TIERS];
    hm_options_latencies(options, read, write);
    if (options->n_middle > 0 && strcmp(options->algorithm, "bins") == 0)
        return hm_fail(error, EINVAL, "--algorithm bins knows two tiers: leave out --middle-tier, or use regions");
    for (unsigned i = 0; i < options->n_middle; i++) {
        unsigned tier = i + 1;
        if (read[tier] < read[i] || write[tier] < write[i])
            return hm_fail(error, EINVAL,
                           "--middle-tier: \"%.40s\" (latencies %g, %g) is faster than the tier before it (%g, %g): "
                           "give the fastest first",
                           options->middle[i].text, read[tier], write[tier], read[i], write[i]);
        if (read[tier] > options->lat_read || write[tier] > options->lat_write)
            return hm_fail(error, EINVAL,
                           "--middle-tier: \"%.40s\" (latencies %g, %g) is slower than the slow tier (%g, %g): give "
                           "--lat-read and --lat-write of the slowest",
                           options->middle[i].text, read[tier], write[tier], options->lat_read, options->lat_write);
    }
    return 0;
}
