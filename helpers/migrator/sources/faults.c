/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source "faults": page faults with their addresses. It needs no hardware. It sees
 *
 * - always the first touch of each page: what was allocated, where and when, but not what is used afterwards;
 * - NUMA hint faults, only if the kernel's balancing is on (kernel.numa_balancing), and only in memory under the
 *   default policy or MPOL_BIND with MPOL_F_NUMA_BALANCING. The plan of a job with source=faults takes one of these
 *   (core/plan/spread.c). If the balancing is off, a migrator with this source sees little but first touches;
 * - the first write to each page after its soft-dirty mark was cleared (/proc/PID/clear_refs).
 *
 * A record tells neither the kind of its fault nor whether a load or a store caused it.
 */
#include "perfwatch.h"
#include "rows.h"

static struct hm_source *open_faults(const struct hm_source_setup *setup, struct hm_error *error)
{
    struct hm_perf_plan plan = {.n_events = 1, .period = 1, .kind = {HM_PERF_UNKNOWN}};
    hm_perf_attr(&plan.attr[0], PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    return hm_perf_watch(&hm_source_faults, setup, &plan, error);
}

const struct hm_source_row hm_source_faults = {
    .name = "faults",
    .needs = "kernel.perf_event_paranoid 2 or less, or CAP_PERFMON; no hardware",
    .knows = "address of the first touch of each page, not what is used afterwards; not load or store",
    .cost = "about 1 us of CPU time per fault, an estimate; fewer are sampled to stay within overhead=",
    .open = open_faults,
};
