/* SPDX-License-Identifier: Apache-2.0 */
#include "counters.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/topology/discover.h"

static const struct hm_tier *slow_of(const struct hm_mbi_counters *counters)
{
    return &counters->tiers.tier[counters->tiers.n_tiers - 1];
}

int hm_mbi_counters_find(struct hm_mbi_counters *counters, const char *topology, struct hm_error *error)
{
    struct hm_topology *found = &counters->tiers.topology;
    counters->setup.sysfs = -1;
    if (hm_config_read(hm_config_path(), false, &counters->config, error) < 0 ||
        (topology ? hm_discover(topology, found, error) : hm_discover_plainly(found, error)) < 0 ||
        hm_tiers_group(found, &counters->config, &counters->tiers, error) < 0)
        return -1;
    if (counters->tiers.n_tiers < 2)
        return hm_fail(error, ENODEV, "this node has one tier only: no memory can be set apart");
    for (int t = 0; t < counters->tiers.n_tiers - 1; t++)
        if (counters->tiers.tier[t].kind == slow_of(counters)->kind)
            return hm_fail(error, ENODEV,
                           "counters tell kinds of memory apart, and the tiers %s and %s are both %s: say in %s what "
                           "they are",
                           counters->tiers.tier[t].name, slow_of(counters)->name, hm_kind_name(slow_of(counters)->kind),
                           HM_CONFIG_NAME);
    return 0;
}

/* The flow of the slow tier. It is there, as each tier has one, also where no source has the quantity. */
static const struct hm_flow *flow_of(const struct hm_mbi_counters *counters, int n, enum hm_quantity quantity)
{
    for (int i = 0; i < n; i++)
        if (counters->flow[i].quantity == quantity && counters->flow[i].kind == slow_of(counters)->kind)
            return &counters->flow[i];
    return NULL;
}

static int fail_flow(const struct hm_mbi_counters *counters, const struct hm_flow *flow, struct hm_error *error)
{
    return hm_fail(error, ENODATA, "the traffic of the tier %s is not counted here: %s", slow_of(counters)->name,
                   flow ? flow->reason.text : "this node has too many counters");
}

/* Looks at both flows of the slow tier. */
static int find_flows(struct hm_mbi_counters *counters, const struct hm_flow *flow[2], struct hm_error *error)
{
    int n = hm_flows_sum(&counters->gauges, counters->tried, counters->n_tried, &counters->tiers, counters->flow);
    flow[0] = flow_of(counters, n, HM_READ_BYTES);
    flow[1] = flow_of(counters, n, HM_WRITE_BYTES);
    for (int i = 0; i < 2; i++)
        if (!flow[i] || !flow[i]->source)
            return fail_flow(counters, flow[i], error);
    return 0;
}

int hm_mbi_counters_open(struct hm_mbi_counters *counters, struct hm_error *error)
{
    const struct hm_flow *flow[2];
    counters->setup = (struct hm_counters_setup){.resctrl = -1,
                                                 .resctrl_why = ENOENT,
                                                 .papi = HM_PKGLIBEXECDIR "/hybridmem-papi",
                                                 .not_asked = "it has no traffic"};
    counters->setup.sysfs = open("/sys", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (counters->setup.sysfs < 0)
        return hm_fail_errno(error, "/sys");
    counters->n_tried = hm_counters_find(&counters->setup, &counters->gauges, counters->tried);
    hm_mbi_counters_read(counters);
    hm_gauges_clear(&counters->gauges);
    return find_flows(counters, flow, error);
}

void hm_mbi_counters_read(struct hm_mbi_counters *counters)
{
    hm_gauges_read(&counters->gauges, hm_clock_ns(CLOCK_MONOTONIC));
}

int hm_mbi_counters_sum(struct hm_mbi_counters *counters, struct hm_mbi_traffic *traffic, struct hm_error *error)
{
    const struct hm_flow *flow[2];
    if (find_flows(counters, flow, error) < 0)
        return -1;
    for (int i = 0; i < 2; i++)
        if (!hm_flow_is_known(flow[i]))
            return fail_flow(counters, flow[i], error);
    *traffic = (struct hm_mbi_traffic){flow[0]->total.amount, flow[1]->total.amount, flow[0]->source};
    return 0;
}

void hm_mbi_counters_close(struct hm_mbi_counters *counters)
{
    hm_gauges_close(&counters->gauges, 0);
    if (counters->setup.sysfs >= 0)
        close(counters->setup.sysfs);
}
