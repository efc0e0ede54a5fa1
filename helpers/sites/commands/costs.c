/* SPDX-License-Identifier: Apache-2.0 */
#include "costs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config/config.h"
#include "core/plan/plan.h"
#include "core/topology/discover.h"

struct work { /* too large for the stack */
    struct hm_config config;
    struct hm_tiers tiers;
    struct hm_plan plan;
};

static void read_bandwidths(const struct work *work, struct hm_sites_costs *costs)
{
    const struct hm_tier *fast = &work->tiers.tier[0], *slow = &work->tiers.tier[work->tiers.n_tiers - 1];
    bool is_known =
        fast->read_bandwidth_mbs.origin != HM_ORIGIN_NONE && slow->read_bandwidth_mbs.origin != HM_ORIGIN_NONE;
    if (hm_tiers_channels(&work->config, fast, slow) != HM_CHANNELS_SEPARATE || !is_known)
        return;
    costs->fast_mbs = (double)fast->read_bandwidth_mbs.value;
    costs->slow_mbs = (double)slow->read_bandwidth_mbs.value;
}

static void read_costs(const struct work *work, struct hm_sites_costs *costs)
{
    const struct hm_plan_migration *migration = &work->plan.migration;
    costs->read = migration->read_latency;
    costs->write = migration->write_latency > 0 ? migration->write_latency : costs->read;
}

static void describe(const struct work *work, struct hm_sites_costs *costs)
{
    const char *slow = work->tiers.tier[work->tiers.n_tiers - 1].name;
    if (costs->fast_mbs > 0)
        snprintf(costs->text, sizeof(costs->text), "they have channels of their own, of %.1f and %.1f GB/s",
                 costs->fast_mbs / 1000, costs->slow_mbs / 1000);
    else if (costs->read > 0)
        snprintf(costs->text, sizeof(costs->text),
                 "a read from %.24s costs %.3g times as much, a write to it %.3g times", slow, costs->read,
                 costs->write);
    else
        snprintf(costs->text, sizeof(costs->text), "their latencies are not known: all accesses count the same");
}

/* The plan of a job of mode migrate, alone on the node: it has the costs that its migrator counts. */
static int resolve(const char *topology, struct work *work, struct hm_error *error)
{
    struct hm_request request;
    struct hm_abilities abilities;
    struct hm_where where = {.size_bytes = 0};
    if (hm_request_parse("migrate", &request, error) < 0 ||
        hm_config_read(hm_config_path(), false, &work->config, error) < 0 ||
        hm_discover(topology, &work->tiers.topology, error) < 0 ||
        hm_tiers_group(&work->tiers.topology, &work->config, &work->tiers, error) < 0)
        return -1;
    if (work->tiers.n_tiers < 2)
        return hm_fail(error, ENODEV, "this node has one tier only: there are no costs to count");
    for (int i = 0; i < work->tiers.topology.n_sockets; i++)
        hm_set_union(&where.cpus, &work->tiers.topology.socket_cpus[i]);
    if (hm_abilities_of_kernel("6.12", &abilities, error) < 0)
        return -1;
    abilities.alone = true;
    return hm_plan_resolve(&request, &work->tiers, &work->config, &abilities, &where, &work->plan, error);
}

int hm_sites_costs_read(const char *topology, struct hm_sites_costs *costs, struct hm_error *error)
{
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return hm_fail(error, ENOMEM, "out of memory");
    int status = resolve(topology, work, error);
    if (status == 0) {
        read_costs(work, costs);
        read_bandwidths(work, costs);
        describe(work, costs);
    }
    free(work);
    return status;
}
