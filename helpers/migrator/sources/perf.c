/* SPDX-License-Identifier: Apache-2.0 */
/* The source "perf": loads and stores sampled by the processor. */
#include <errno.h>
#include <stdio.h>

#include "base/amount.h"
#include "base/perfopen.h"
#include "base/pmu.h"
#include "migrator/perf/cpu.h"
#include "perfwatch.h"
#include "rows.h"

/* as in the paper that decide/bins.c names: one sample for 64k accesses; with fewer samples the borders of hot extents
 * are lost */
#define PERIOD 65536

static int look_up(void *data, const char *term, char *text)
{
    const char *const *pmu = data;
    char name[64];
    snprintf(name, sizeof(name), "format/%s", term);
    return hm_perf_read_attribute(*pmu, name, text, HM_PMU_TEXT);
}

/* The nearest period that the processor can have. */
static uint64_t fit_period(const struct hm_perf_processor *processor, uint64_t period)
{
    period = (period + processor->period_multiple - 1) / processor->period_multiple * processor->period_multiple;
    period = hm_most(period, processor->period_least);
    return processor->period_most ? hm_least(period, processor->period_most) : period;
}

/* Makes the events for this processor. Returns 0, or -1 with the reason. */
static int make_plan(const struct hm_perf_processor *processor, uint64_t period, struct hm_perf_plan *plan,
                     struct hm_error *error)
{
    int type = processor->pmu ? hm_perf_find_type(processor->pmu) : PERF_TYPE_RAW;
    if (type < 0)
        return hm_fail(error, ENOENT, "the kernel shows no %s in /sys/bus/event_source/devices", processor->pmu);
    const char *pmu = processor->pmu;
    struct hm_pmu_config bits = {0};
    if (processor->terms && hm_pmu_parse_event(processor->terms, look_up, &pmu, &bits, error) != 0)
        return -1;
    *plan = (struct hm_perf_plan){.n_events = processor->n_events,
                                  .has_packets = processor->has_packets,
                                  .period = fit_period(processor, period),
                                  .period_most = processor->period_most};
    for (int e = 0; e < processor->n_events; e++) {
        hm_perf_attr(&plan->attr[e], (uint32_t)type, processor->event[e].config | bits.word[0]);
        plan->attr[e].config1 = processor->event[e].config1 | bits.word[1];
        plan->attr[e].config2 = processor->user_only_config2 | bits.word[2];
        plan->attr[e].disabled = processor->has_packets; /* until its AUX area is mapped */
        plan->attr[e].precise_ip = processor->event[e].precise & 3;
        plan->kind[e] = processor->event[e].kind;
    }
    return 0;
}

/*
 * Includes the kernel's samples, for kernels that cannot leave them out for this PMU. The reader drops them, but
 * opening may need the right to see them.
 */
static void include_kernel(struct hm_perf_plan *plan)
{
    for (int e = 0; e < plan->n_events; e++) {
        plan->attr[e].config2 = 0;
        plan->attr[e].exclude_kernel = 0;
        plan->attr[e].exclude_hv = 0;
    }
}

static struct hm_source *open_perf(const struct hm_source_setup *setup, struct hm_error *error)
{
    struct hm_perf_cpu cpu;
    struct hm_perf_plan plan;
    if (hm_perf_read_cpu(&cpu) != 0) {
        hm_fail(error, ENODEV, "the processor is not known: /proc/cpuinfo names no vendor");
        return NULL;
    }
    const char *where = cpu.is_virtual ? " in a virtual machine" : "";
    const struct hm_perf_processor *processor = hm_perf_find_processor(&cpu);
    if (!processor) {
        hm_fail(error, ENODEV, "%s family %u model %u%s: no events of this processor are known", cpu.vendor, cpu.family,
                cpu.model, where);
        return NULL;
    }
    struct hm_error reason = {""};
    struct hm_source *source = NULL;
    if (make_plan(processor, setup->period ? setup->period : PERIOD, &plan, &reason) == 0) {
        source = hm_perf_watch(&hm_source_perf, setup, &plan, &reason);
        if (!source && errno == EINVAL && processor->user_only_config2) {
            include_kernel(&plan);
            source = hm_perf_watch(&hm_source_perf, setup, &plan, &reason);
        }
    }
    if (!source)
        hm_fail(error, errno, "%s%s: %s", processor->name, where, reason.text);
    return source;
}

const struct hm_source_row hm_source_perf = {
    .name = "perf",
    .needs = "a processor whose hardware samples addresses (Intel from Skylake to Granite Rapids, AMD Zen, Arm with "
             "SPE), shown to this system, and kernel.perf_event_paranoid 2 or less or CAP_PERFMON",
    .knows = "address, load or store, for each sample",
    .cost = "about 1 us of CPU time per sample, an estimate; the period is made coarser to stay within overhead=",
    .open = open_perf,
};
