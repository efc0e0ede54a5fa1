/* SPDX-License-Identifier: Apache-2.0 */
#include "perfwatch.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/advance.h"
#include "base/clock.h"
#include "base/pagesize.h"
#include "base/perfopen.h"
#include "perfwatchparts.h"

#define BATCH 64            /* samples that are read together */
#define ENDED 256           /* most ends of threads that are noticed at one read */
#define ADAPT_NS 1000000000 /* time between two comparisons of cost and budget */
#define KERNEL_S 1e-6   /* assumed CPU time of the kernel for a record of the hardware's; for the budget, never told */
#define KEPT 0.9        /* of the means of cost, from one second to the next */
#define POLL_MS 1000    /* a ring that is not half full is read after this time */
#define ADDRESS_BITS 57 /* most bits of an address in user space; higher addresses are the kernel's */
/* if no sample has been of use, this many in a row without an address mean that the hardware knows no addresses */
#define BLIND 4096

/* ------------------------------------------------------------------ read */

struct hm_observation hm_perf_weigh(const struct hm_ring_sample *sample, enum hm_perf_kind kind, uint64_t period,
                                    uint64_t unit)
{
    struct hm_observation seen = {.n_pages = 1};
    union perf_mem_data_src source = {.val = sample->data_src};
    float weight = (float)((double)(sample->period ? sample->period : period) / (double)unit);
    bool is_store = kind == HM_PERF_STORES || (kind == HM_PERF_BOTH && source.mem_op & PERF_MEM_OP_STORE);
    bool is_load =
        kind == HM_PERF_LOADS || (kind == HM_PERF_BOTH && source.mem_op & (PERF_MEM_OP_LOAD | PERF_MEM_OP_PFETCH));
    /* An atomic operation, which reads and writes, counts as a write, as its write costs more. */
    seen.knows_writes = is_store || is_load;
    /* A sample that stands for many accesses is one sample all the same: it tells no more of what is hot. */
    seen.excess = fmaxf(weight - 1, 0);
    if (is_store)
        seen.writes = weight;
    else
        seen.reads = weight;
    return seen;
}

static enum hm_perf_kind find_kind(const struct hm_perf_watched *watch, const struct hm_perf_slot *slot, uint64_t id)
{
    for (int e = 1; e < watch->plan.n_events; e++)
        if (slot->id[e] == id)
            return watch->plan.kind[e];
    return watch->plan.kind[0];
}

static int find_space(struct hm_perf_watched *watch, const struct hm_ranks *ranks, pid_t pid)
{
    if (pid != watch->last_pid) {
        watch->last_pid = pid;
        watch->last_space = hm_ranks_space(ranks, pid);
    }
    return watch->last_space;
}

/* Makes observations of our processes' samples that were taken in user mode and have an address in user space. Returns
 * their number. */
static size_t translate(struct hm_perf_watched *watch, const struct hm_perf_slot *slot, const struct hm_ranks *ranks,
                        struct hm_ring_sample *sample, size_t count, struct hm_observation *out)
{
    size_t n = 0, n_ours = 0;
    int space[BATCH];
    for (size_t i = 0; i < count; i++) {
        watch->blind = sample[i].address || watch->plan.locate ? 0 : watch->blind + 1;
        space[n_ours] = find_space(watch, ranks, (pid_t)sample[i].pid);
        if (space[n_ours] < 0)
            continue;
        if (n_ours < i)
            sample[n_ours] = sample[i];
        n_ours++;
    }
    if (watch->plan.locate)
        watch->plan.locate(watch->locator, sample, n_ours);
    for (size_t i = 0; i < n_ours; i++) {
        if (!sample[i].is_user || !sample[i].address || sample[i].address >> ADDRESS_BITS)
            continue;
        out[n] =
            hm_perf_weigh(&sample[i], find_kind(watch, slot, sample[i].id), watch->budget.period, watch->plan.period);
        out[n].is_saturated = watch->plan.locate;
        out[n].offset = (uint32_t)(sample[i].address % hm_page_size());
        out[n++].page = HM_PAGE((uint64_t)space[i], sample[i].address >> hm_page_shift());
    }
    return n;
}

/* Marks slots of ended threads: their events hang up, which would wake poll(2) again and again. */
static void mark_ended(struct hm_perf_watched *watch)
{
    struct epoll_event event[ENDED];
    int count = epoll_wait(watch->source.fd, event, ENDED, 0);
    for (int i = 0; i < count; i++)
        if (event[i].events & (EPOLLHUP | EPOLLERR))
            ((struct hm_perf_slot *)event[i].data.ptr)->is_over = true;
}

static void drain(struct hm_perf_watched *watch, struct hm_perf_slot *slot, const struct hm_ranks *ranks,
                  hm_source_sink *sink, void *data)
{
    struct hm_ring_sample sample[BATCH];
    struct hm_observation seen[BATCH];
    struct hm_perf_heads heads = hm_perf_slot_heads(slot);
    size_t count;
    do {
        count = hm_perf_slot_read(slot, &watch->plan.attr[0], &heads, sample, BATCH, &watch->counts);
        size_t n = translate(watch, slot, ranks, sample, count, seen);
        if (n > 0)
            sink(data, seen, n);
        watch->source.state.samples += n;
    } while (count == BATCH);
}

static void show_period(struct hm_perf_watched *watch)
{
    watch->source.state.period = watch->plan.is_time ? watch->budget.period / 1000 : watch->budget.period;
}

/* Fits the period to what records have cost in the last seconds. */
static bool fit(struct hm_perf_watched *watch, double spent_s, double records, uint64_t now)
{
    double age_s = (double)(now - watch->begun_ns) / 1e9;
    double share = watch->share * hm_advance_rate(age_s, hm_advance_sum(age_s));
    watch->spent_mean = KEPT * watch->spent_mean + (1 - KEPT) * spent_s;
    watch->records_mean = KEPT * watch->records_mean + (1 - KEPT) * records;
    return watch->records_mean > 0 && share > 0 &&
           hm_perf_budget_fit(&watch->budget, watch->spent_mean / watch->records_mean, share, watch->plan.finest);
}

/* The locator reads the code mostly at the beginning, all at once. Of each second's budget it gets its share until that
 * is paid for. */
static void pay_for_locator(struct hm_perf_watched *watch, double allowed_s)
{
    double used_s = watch->plan.cpu_s ? watch->plan.cpu_s(watch->locator) : 0;
    double paid_s = fmin(used_s - watch->located_s, watch->plan.locator_share * allowed_s);
    watch->located_s += paid_s;
    watch->spent_s += paid_s;
}

/* Compares the cost of sampling with the budget once a second, and changes the period if needed. */
static void adapt(struct hm_perf_watched *watch, uint64_t now)
{
    struct hm_ring_counts *counts = &watch->counts;
    uint64_t records = counts->samples + counts->others + counts->lost, passed = now - watch->since_ns;
    if (passed < ADAPT_NS)
        return;
    double allowed_s = watch->share * watch->n_cpus * (double)passed / 1e9;
    pay_for_locator(watch, allowed_s);
    double spent_s = watch->spent_s + (double)(records - watch->records) * watch->plan.record_s;
    bool has_changed = watch->plan.is_time ? fit(watch, spent_s, (double)(records - watch->records), now)
                                           : hm_perf_budget_next(&watch->budget, spent_s, allowed_s,
                                                                 counts->throttled != watch->throttled);
    if (has_changed) {
        for (int e = 0; e < watch->plan.n_events; e++)
            watch->plan.attr[e].sample_period = watch->budget.period;
        for (size_t i = 0; i < watch->n; i++)
            hm_perf_slot_set_period(watch->slot[i], watch->budget.period);
        show_period(watch);
    }
    watch->since_ns = now;
    watch->spent_s = 0;
    watch->records = records;
    watch->throttled = counts->throttled;
}

static int read_all(struct hm_source *source, const struct hm_ranks *ranks, hm_source_sink *sink, void *data,
                    struct hm_error *error)
{
    struct hm_perf_watched *watch = (struct hm_perf_watched *)source;
    uint64_t began = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    watch->last_pid = 0;    /* its space may have changed since the last call */
    watch->last_space = -1; /* that of pid 0, which the kernel shows for processes of other pid namespaces */
    mark_ended(watch);
    for (size_t i = watch->n; i-- > 0;) {
        drain(watch, watch->slot[i], ranks, sink, data);
        if (watch->slot[i]->is_over)
            hm_perf_drop(watch, i);
    }
    source->state.lost = watch->counts.lost;
    source->state.throttled = watch->counts.throttled;
    if (source->state.kernel_cpu_s >= 0)
        source->state.kernel_cpu_s = (double)(watch->counts.samples + watch->counts.lost) * watch->plan.record_s +
                                     (watch->plan.cpu_s ? watch->plan.cpu_s(watch->locator) : 0);
    watch->spent_s += (double)(hm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - began) / 1e9;
    adapt(watch, hm_clock_ns(CLOCK_MONOTONIC));
    const char *over = watch->plan.is_over ? watch->plan.is_over(watch->locator) : NULL;
    if (over)
        return hm_fail(error, ENODATA, "%s", over);
    if (source->state.samples == 0 && watch->blind >= BLIND)
        return hm_fail(error, ENODATA, "the kernel gives no addresses with this hardware's samples");
    return 0;
}

/* ------------------------------------------------------------------ open and close */

static void close_all(struct hm_source *source)
{
    struct hm_perf_watched *watch = (struct hm_perf_watched *)source;
    while (watch->n > 0)
        hm_perf_drop(watch, watch->n - 1);
    if (source->fd >= 0)
        close(source->fd);
    free(watch->slot);
    hm_lent_close(&watch->lent);
    if (watch->plan.end)
        watch->plan.end(watch->locator);
    free(watch);
}

/*
 * Opens each event once, on process `pid` (0: this one; -1: all on the CPU), and closes it. Returns 0, or -1 with
 * errno.
 */
static int try(const struct hm_perf_plan *plan, pid_t pid, int cpu)
{
    for (int e = 0; e < plan->n_events; e++) {
        int fd = hm_perf_open(&plan->attr[e], pid, cpu, 0);
        if (fd < 0)
            return -1;
        close(fd);
    }
    return 0;
}

struct hm_source *hm_perf_watch(const struct hm_source_row *row, const struct hm_source_setup *setup,
                                const struct hm_perf_plan *plan, struct hm_error *error)
{
    char paranoid[16], why[HM_WARNING];
    struct hm_perf_plan tried = *plan;
    for (int e = 0; e < tried.n_events; e++)
        tried.attr[e].sample_period = plan->period;
    hm_perf_read_paranoid(paranoid, sizeof(paranoid));
    if (!plan->lender && try(&tried, 0, -1) != 0) {
        int number = errno;
        int wanted = plan->attr[0].exclude_kernel ? 2 : 1;
        hm_fail(error, number, "%s", hm_perf_explain(number, paranoid, wanted, why, sizeof(why)));
        return NULL;
    }
    struct hm_perf_watched *watch = calloc(1, sizeof(*watch));
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (watch)
        watch->slot = calloc(HM_PERF_SLOTS, sizeof(struct hm_perf_slot *));
    if (!watch || !watch->slot || fd < 0) {
        hm_fail_errno(error, "cannot prepare to watch threads");
        if (watch)
            free(watch->slot);
        free(watch);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    int cpu = sched_getcpu();
    watch->plan = tried;
    hm_lent_init(&watch->lent, plan->lender ? plan->lender : "");
    if (watch->plan.record_s <= 0)
        watch->plan.record_s = KERNEL_S;
    watch->is_wide = !plan->lender && !plan->has_packets && try(&tried, -1, cpu >= 0 ? cpu : 0) == 0;
    watch->share = HM_PERF_SHARE * setup->overhead;
    watch->n_cpus = setup->n_cpus ? setup->n_cpus : 1;
    watch->since_ns = watch->begun_ns = hm_clock_ns(CLOCK_MONOTONIC);
    hm_perf_budget_init(&watch->budget, plan->period, plan->period_most);
    watch->source = (struct hm_source){
        .row = row, .fd = fd, .poll_ms = POLL_MS, .update = hm_perf_update, .read = read_all, .close = close_all};
    watch->source.state = (struct hm_source_state){
        .unit = plan->period, .is_time = plan->is_time, .kernel_cpu_s = plan->tells_cost ? 0 : -1};
    show_period(watch);
    watch->source.state.knows_writes = plan->kind[0] != HM_PERF_UNKNOWN;
    snprintf(watch->source.state.name, HM_SOURCE_NAME, "%s", row->name);
    const char *how = "each thread by itself: the whole cgroup would need CAP_PERFMON or perf_event_paranoid 0";
    if (plan->has_packets)
        how = "each thread by itself: packets of SPE do not tell whose they are";
    else if (plan->lender)
        how = "each thread by itself, by events that hybridmem-damon lends";
    else if (watch->is_wide)
        how = "the whole cgroup, on each CPU";
    snprintf(watch->source.state.how, sizeof(watch->source.state.how), "%s", how);
    return &watch->source;
}
