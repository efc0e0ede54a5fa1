/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source "clock": where the hardware does not sample addresses, the CPU's clock does. At each tick of a perf event,
 * the kernel tells a thread's registers. The machine code there tells which memory the thread has just accessed, or
 * accesses next.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/perfopen.h"
#include "clockcode.h"
#include "clockcost.h"
#include "lent.h"
#include "perfwatch.h"
#include "rows.h"

#define CODE 0.33   /* of the CPU time for sampling: for reading code */
#define MARGIN 1.25 /* a fifth of the CPU time for sampling is kept for reading what was sampled */
/* Bounds for what a sample is believed to cost: on a busy machine the measurement is disturbed. */
#define LEAST_S 1e-6
#define MOST_S 15e-6
#define FINEST_NS 100000
/*
 * ns of CPU time for an access. Of a hundred accesses, some five miss the caches (decide/misses.h). If a program did
 * nothing but wait for these, each took some 150 ns: no more time can be gained than the program spends.
 */
#define ACCESS_NS 10

static void locate(void *locator, struct hm_ring_sample *sample, size_t n)
{
    hm_clock_code_locate(locator, sample, n);
}

static const char *is_over(void *locator)
{
    return hm_clock_code_is_over(locator);
}

static double cpu_s(const void *locator)
{
    return hm_clock_code_cpu_s(locator);
}

static void end(void *locator)
{
    hm_clock_code_free(locator);
}

/* ns of CPU time between two samples, so that the kernel's work for them keeps to the overhead. */
static uint64_t choose_period(const struct hm_source_setup *setup, double sample_s)
{
    double share = setup->overhead * HM_PERF_SHARE;
    double period = share > 0 ? sample_s * MARGIN / share * 1e9 : HM_PERF_CLOCK_COARSEST_NS;
    return period < FINEST_NS                   ? FINEST_NS
           : period > HM_PERF_CLOCK_COARSEST_NS ? HM_PERF_CLOCK_COARSEST_NS
                                                : (uint64_t)period;
}

/* Opens the event on this thread; where the user may not, the broker lends it, and the plan names the lender. Returns
 * -1 where there is none; `why` says why the broker lends none. */
static int open_own(const struct hm_source_setup *setup, struct hm_perf_plan *plan, struct hm_error *why)
{
    int event = hm_perf_open(&plan->attr[0], 0, -1, 0);
    if (event >= 0 || (errno != EACCES && errno != EPERM) || !setup->borrows)
        return event;
    event = hm_lent_own(setup->broker, setup->stop, why);
    if (event >= 0)
        plan->lender = setup->broker;
    return event;
}

/* Adds to the reason why there is no source. Keeps errno. */
static void append(struct hm_error *error, const char *text)
{
    size_t length = error ? strlen(error->text) : 0;
    if (error && text[0])
        snprintf(error->text + length, sizeof(error->text) - length, "; %s", text);
}

/* Makes the source. Its events, once they are open, are not enabled before hm_perf_begin. */
static struct hm_source *make(const struct hm_source_setup *setup, struct hm_error *error)
{
    struct hm_perf_plan plan = {.n_events = 1,
                                .kind = {HM_PERF_BOTH},
                                .is_time = true,
                                .finest = FINEST_NS,
                                .period_most = HM_PERF_CLOCK_COARSEST_NS,
                                .locate = locate,
                                .is_over = is_over,
                                .cpu_s = cpu_s,
                                .locator_share = CODE,
                                .end = end};
    struct hm_error why = {""};
    hm_perf_attr_clock(&plan.attr[0]);
    int event = open_own(setup, &plan, &why);
    double cost_s = event >= 0 ? hm_clock_cost(&plan.attr[0], event) : -1;
    plan.tells_cost = cost_s >= LEAST_S && cost_s <= MOST_S;
    plan.record_s = plan.tells_cost ? cost_s : MOST_S;
    plan.period = choose_period(setup, plan.record_s);
    struct hm_source *source = hm_perf_watch(&hm_source_clock, setup, &plan, error);
    if (!source) {
        append(error, why.text);
        return NULL;
    }
    source->state.unit = plan.period / ACCESS_NS;
    return source;
}

/*
 * The source that root has made for the user: it watches the step's cgroup, whatever perf_event_paranoid is. A user
 * could not open it again. So closing it only pauses it.
 */
static struct {
    struct hm_source *source; /* NULL: there is none */
    void (*close)(struct hm_source *source);
} prepared;

static void forget(void)
{
    if (prepared.source)
        prepared.close(prepared.source);
    prepared.source = NULL;
}

static void prepare(const struct hm_source_setup *setup, const char *cgroup)
{
    prepared.source = make(setup, NULL);
    if (!prepared.source)
        return;
    prepared.close = prepared.source->close;
    prepared.source->close = hm_perf_pause;
    if (hm_perf_watch_cgroup(prepared.source, cgroup) != 0)
        forget();
}

static struct hm_source *open_clock(const struct hm_source_setup *setup, struct hm_error *error)
{
    struct hm_source *source = prepared.source ? prepared.source : make(setup, error);
    if (!source)
        return NULL;
    struct hm_clock_code *code = hm_clock_code_new(
        setup->overhead * HM_PERF_SHARE * CODE * (setup->n_cpus ? setup->n_cpus : 1), setup->stop, error);
    if (code) {
        source->helper = hm_clock_code_helper(code);
        hm_perf_begin(source, code);
        return source;
    }
    int number = errno;
    source->close(source);
    errno = number;
    return NULL;
}

const struct hm_source_row hm_source_clock = {
    .name = "clock",
    .needs = "kernel.perf_event_paranoid 2 or less, or CAP_PERFMON; kernel.yama.ptrace_scope 0, or a step and Linux "
             "5.9; no hardware",
    .knows = "address, load or store, for each sample, by the code that a thread executes",
    .cost =
        "some us of CPU time per sample, measured when it is opened; the time between samples is chosen by overhead=",
    .open = open_clock,
    .prepare = prepare,
    .forget = forget,
};
