/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a plan: the program with one part of its memory in the slow tier, and the traffic of that tier. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "cli/trace/program.h"
#include "commands.h"
#include "counters.h"
#include "sites/guide/enter.h"

/* Allocations that the kernel may put into another tier than the wanted one: other programs have some. */
#define MISSES 16

struct work {
    const struct hm_mbi_store *store;
    const struct hm_mbi_running *options;
    struct hm_mbi_run run;
    struct hm_mbi_counters counters;
    struct hm_layout layout; /* of the tiers */
    struct hm_guide_table table;
    struct hm_program program;
    struct hm_mbi_result result;
    char path[PATH_MAX];
};

static int by_id(const void *a, const void *b)
{
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void add_group(struct hm_guide_table *table, const struct hm_mbi_group *group)
{
    memcpy(table->id + table->n_ids, group->id, group->n * sizeof(*group->id)); /* the plan has no more than fit */
    table->n_ids += group->n;
}

/* The library is told of no other nodes, on which it would place what finds no room: where the kernel does that, it is
 * counted (hm_mbi_misses). */
static int write_nodes(const struct hm_layout *layout, struct hm_guide_table *table, struct hm_error *error)
{
    struct hm_layout fast = {.n_nodes = 0};
    for (int i = 0; i < layout->n_nodes; i++)
        if (layout->node[i].is_fast)
            fast.node[fast.n_nodes++] = layout->node[i];
    if (hm_guide_write_nodes(&fast, table->nodes) < 0)
        return hm_fail_errno(error, "the tiers have more nodes than can be named");
    return 0;
}

/*
 * The program is guided, and what it is told is turned around where a group is to be alone in the slow tier: the sites
 * of the table have their memory on the nodes that it calls fast, all other memory is on the others.
 */
static int enter(struct work *work, struct hm_error *error)
{
    const struct hm_mbi_plan *plan = &work->store->plan;
    struct hm_layout layout = work->layout;
    bool is_rest = work->run.part == HM_MBI_REST;
    work->table.least_bytes = plan->least_bytes;
    hm_text_copy(work->table.program, plan->build_id ? plan->build_id : "", sizeof(work->table.program));
    for (int i = 0; i < layout.n_nodes && !is_rest; i++)
        layout.node[i].is_fast = !layout.node[i].is_fast;
    for (size_t i = 0; i < plan->n_groups && is_rest; i++)
        add_group(&work->table, &plan->group[i]);
    if (work->run.part == HM_MBI_GROUP)
        add_group(&work->table, &plan->group[work->run.group]);
    qsort(work->table.id, work->table.n_ids, sizeof(work->table.id[0]), by_id);
    return write_nodes(&layout, &work->table, error) == 0 ? hm_guide_enter(&work->table, &layout, error) : -1;
}

static int check_program(struct work *work, struct hm_error *error)
{
    const struct hm_mbi_plan *plan = &work->store->plan;
    char *build_id = NULL;
    if (chdir(plan->folder) < 0)
        return hm_fail_errno(error, "%s", plan->folder);
    if (hm_mbi_find_program(plan->word[0], work->path, &build_id, error) < 0)
        return -1;
    bool is_same = build_id && plan->build_id ? strcmp(build_id, plan->build_id) == 0 : build_id == plan->build_id;
    free(build_id);
    return is_same ? 0
                   : hm_fail(error, ESTALE, "%s is another build than that of the plan: make a new plan", work->path);
}

/* Follows the program to its end. */
static void follow(struct work *work)
{
    while (!work->program.has_ended) {
        struct pollfd events = {.fd = work->program.signals, .events = POLLIN};
        if (poll(&events, 1, HM_MBI_WRAP_MS) == 0)
            hm_mbi_counters_read(&work->counters);
        else
            hm_program_attend(&work->program);
    }
    hm_mbi_counters_read(&work->counters);
}

static int check_end(const struct work *work, uint64_t misses, struct hm_error *error)
{
    int status = work->program.status;
    if (WIFSIGNALED(status))
        return hm_fail(error, ECANCELED, "the program was ended by the signal %s", strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        return hm_fail(error, ECANCELED, "the program ended with exit status %d", WEXITSTATUS(status));
    if (misses > MISSES)
        return hm_fail(error, ENOSPC,
                       "a tier was full: %" PRIu64 " allocations were not in the wanted one; use a smaller input, or "
                       "free page cache",
                       misses);
    return 0;
}

/* Runs the program, and fills in the result. Returns 0, or -1 with the reason why there is none. */
static int measure(struct work *work, struct hm_error *error)
{
    uint64_t before, after, begin_ns;
    struct hm_mbi_traffic traffic;
    if (check_program(work, error) < 0 || hm_mbi_counters_open(&work->counters, work->options->topology, error) < 0)
        return -1;
    if (work->options->has_nodes)
        work->layout = *work->options->layout;
    else
        hm_layout_of_tiers(&work->counters.tiers, &work->counters.config, &work->layout);
    if (enter(work, error) < 0 || hm_mbi_misses(&work->layout, &before, error) < 0)
        return -1;
    begin_ns = hm_clock_ns(CLOCK_MONOTONIC);
    hm_mbi_counters_read(&work->counters);
    hm_gauges_clear(&work->counters.gauges);
    if (hm_program_start(&work->program, work->path, work->store->plan.word, -1, -1, error) != 0)
        return -1;
    follow(work);
    work->result.elapsed_s = (double)(hm_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e9;
    if (hm_mbi_misses(&work->layout, &after, error) < 0 || check_end(work, after - before, error) < 0 ||
        hm_mbi_counters_sum(&work->counters, &traffic, error) < 0)
        return -1;
    work->result.read_bytes = traffic.read_bytes;
    work->result.write_bytes = traffic.write_bytes;
    snprintf(work->result.source, sizeof(work->result.source), "%s", traffic.source);
    return 0;
}

/* Was the program ended by a signal after which nothing more is wanted? */
static bool is_stopped(const struct hm_program *program)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (program->has_ended && WIFSIGNALED(program->status) && WTERMSIG(program->status) == numbers[i])
            return true;
    return false;
}

int hm_mbi_run_one(const struct hm_mbi_store *store, size_t number, const struct hm_mbi_running *options)
{
    struct hm_error error = {""};
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return hm_mbi_fail("run", HM_MBI_FAILED, "out of memory");
    work->store = store;
    work->options = options;
    work->run = hm_mbi_plan_run(&store->plan, number);
    work->counters.setup.sysfs = -1;
    work->result.read_bytes = work->result.write_bytes = NAN;
    gethostname(work->result.node, sizeof(work->result.node) - 1);
    hm_moment_format(time(NULL), work->result.start);
    if (measure(work, &error) < 0)
        snprintf(work->result.reason, sizeof(work->result.reason), "%s", error.text);
    int status = work->result.reason[0] ? hm_mbi_fail("run", HM_MBI_FAILED, work->result.reason) : EXIT_SUCCESS;
    if (hm_mbi_store_put(store, number, &work->result, &error) < 0)
        status = hm_mbi_fail("run", HM_MBI_FAILED, error.text);
    hm_mbi_counters_close(&work->counters);
    const struct hm_program program = work->program;
    free(work);
    return is_stopped(&program) ? hm_program_end(&program) : status;
}
