/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/files.h"
#include "sites/profile/buildid.h"

/* Allocations that the kernel may put into another tier than the wanted one: other programs have some. */
#define MISSES 16

void hm_mbi_measure_init(struct hm_mbi_measure *measure, const struct hm_mbi_store *store, size_t number,
                         const struct hm_mbi_running *options)
{
    measure->store = store;
    measure->options = options;
    measure->number = number;
    measure->run = hm_mbi_plan_run(&store->plan, number);
    measure->counters.setup.sysfs = -1;
    measure->result.read_bytes = measure->result.write_bytes = NAN;
    gethostname(measure->result.node, sizeof(measure->result.node) - 1);
    hm_moment_format(time(NULL), measure->result.start);
}

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
 * What a guided program is told is turned around where a group is to be alone in the slow tier: the sites of the table
 * have their memory on the nodes that it calls fast, all other memory is on the others.
 */
static int make_table(struct hm_mbi_measure *measure, struct hm_error *error)
{
    const struct hm_mbi_plan *plan = &measure->store->plan;
    struct hm_guide_table *table = &measure->table;
    bool is_rest = measure->run.part == HM_MBI_REST;
    measure->told = measure->layout;
    table->least_bytes = plan->least_bytes;
    hm_text_copy(table->program, plan->build_id ? plan->build_id : "", sizeof(table->program));
    for (int i = 0; i < measure->told.n_nodes && !is_rest; i++)
        measure->told.node[i].is_fast = !measure->told.node[i].is_fast;
    for (size_t i = 0; i < plan->n_groups && is_rest; i++)
        add_group(table, &plan->group[i]);
    if (measure->run.part == HM_MBI_GROUP)
        add_group(table, &plan->group[measure->run.group]);
    qsort(table->id, table->n_ids, sizeof(table->id[0]), by_id);
    return write_nodes(&measure->told, table, error);
}

/* Is another build of it there now? A library that is not there now, as the program loads it from elsewhere, is taken
 * for the same; the program itself is compared by those who start it. */
static bool is_other(const struct hm_profile *profile, const struct hm_profile_object *object)
{
    char now[HM_BUILDID_TEXT];
    bool is_program = profile->build_id && object->build_id && strcmp(profile->build_id, object->build_id) == 0;
    return !is_program && object->build_id && object->path[0] == '/' &&
           hm_buildid_of_file(object->path, now, NULL) == 0 && strcmp(now, object->build_id) != 0;
}

static bool is_planned(const struct hm_mbi_plan *plan, uint64_t id)
{
    for (size_t i = 0; i < plan->n_groups; i++)
        if (hm_mbi_group_has(&plan->group[i], id))
            return true;
    return false;
}

/* Is the object's build in the id of a site of the plan? An id that was given is the same in all builds. */
static bool is_needed(const struct hm_mbi_plan *plan, const struct hm_profile *profile, size_t object)
{
    for (size_t i = 0; i < profile->n_sites; i++) {
        const struct hm_profile_site *site = &profile->site[i];
        bool has_it = false;
        for (int f = 0; f < site->n_frames; f++)
            has_it = has_it || site->frame[f].object == (int)object;
        if (has_it && !site->is_given && is_planned(plan, site->id))
            return true;
    }
    return false;
}

/* Are the libraries those of the plan, whose builds are in its sites' ids? Returns 0, or -1 with a text. */
static int check_libraries(const struct hm_mbi_store *store, struct hm_error *error)
{
    char path[PATH_MAX];
    struct hm_profile *profile =
        hm_mbi_store_path(store, HM_MBI_PROFILE, path, error) == 0 ? hm_profile_read(path, error) : NULL;
    int status = profile ? 0 : -1;
    for (size_t i = 0; profile && i < profile->n_objects && status == 0; i++)
        if (is_other(profile, &profile->object[i]) && is_needed(&store->plan, profile, i))
            status = hm_fail(error, ESTALE, "%s is another build than that of the plan: make a new plan",
                             profile->object[i].path);
    hm_profile_free(profile);
    return status;
}

int hm_mbi_measure_choose(struct hm_mbi_measure *measure, struct hm_error *error)
{
    struct hm_mbi_counters *counters = &measure->counters;
    if (check_libraries(measure->store, error) < 0 ||
        hm_mbi_counters_find(counters, measure->options->topology, error) < 0)
        return -1;
    if (measure->options->has_nodes)
        measure->layout = *measure->options->layout;
    else
        hm_layout_of_tiers(&counters->tiers, &counters->config, &measure->layout);
    return make_table(measure, error);
}

int hm_mbi_measure_open(struct hm_mbi_measure *measure, struct hm_error *error)
{
    return hm_mbi_counters_open(&measure->counters, error);
}

int hm_mbi_measure_begin(struct hm_mbi_measure *measure, struct hm_error *error)
{
    if (hm_mbi_misses(&measure->layout, &measure->misses, error) < 0)
        return -1;
    measure->began_ns = hm_clock_ns(CLOCK_MONOTONIC);
    hm_mbi_counters_read(&measure->counters);
    hm_gauges_clear(&measure->counters.gauges);
    return 0;
}

static int check_end(int status, uint64_t misses, struct hm_error *error)
{
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

int hm_mbi_measure_end(struct hm_mbi_measure *measure, int status, struct hm_error *error)
{
    struct hm_mbi_result *result = &measure->result;
    struct hm_mbi_traffic traffic;
    uint64_t misses;
    hm_mbi_counters_read(&measure->counters);
    result->elapsed_s = (double)(hm_clock_ns(CLOCK_MONOTONIC) - measure->began_ns) / 1e9;
    if (hm_mbi_misses(&measure->layout, &misses, error) < 0 || check_end(status, misses - measure->misses, error) < 0 ||
        hm_mbi_counters_sum(&measure->counters, &traffic, error) < 0)
        return -1;
    result->read_bytes = traffic.read_bytes;
    result->write_bytes = traffic.write_bytes;
    snprintf(result->source, sizeof(result->source), "%s", traffic.source);
    return 0;
}

int hm_mbi_measure_keep(struct hm_mbi_measure *measure, const char *reason, struct hm_error *error)
{
    snprintf(measure->result.reason, sizeof(measure->result.reason), "%s", reason);
    return hm_mbi_store_put(measure->store, measure->number, &measure->result, error);
}

void hm_mbi_measure_close(struct hm_mbi_measure *measure)
{
    hm_mbi_counters_close(&measure->counters);
}
