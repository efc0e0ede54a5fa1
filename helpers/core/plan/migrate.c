/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the modes with a migrator, migrate and isolate: where memory starts, and what the migrator does, also that of
 * guided. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/installed.h"
#include "base/size.h"
#include "scene.h"

/* Values for keys that neither the job nor the site gives. Where a key is 0 here, the migrator chooses; 0 for fast and
 * rate means no limit. */
static const struct hm_migrate_keys built_in = {.interval_ms = 10000,
                                                .overhead_percent = 1,
                                                .algorithm = HM_ALGORITHM_REGIONS,
                                                .source = HM_SOURCE_AUTO,
                                                .hot_by = HM_HOT_BY_ACCESSES};

/* Least write latency of the part's nodes, in ns; 0: unknown. */
static double write_latency(const struct hm_scene *scene, const struct hm_part *part)
{
    const struct hm_topology *topology = &scene->tiers->topology;
    uint64_t least = 0;
    for (int i = 0; i < topology->n_nodes; i++) {
        const struct hm_figure *figure = &topology->node[i].write_latency_ns;
        if (hm_set_has(&part->nodes, (unsigned)topology->node[i].id) && figure->origin != HM_ORIGIN_NONE &&
            (least == 0 || figure->value < least))
            least = figure->value;
    }
    return (double)least;
}

static double read_latency(const struct hm_part *part)
{
    const struct hm_figure *figure = &part->tier->read_latency_ns;
    return figure->origin == HM_ORIGIN_NONE ? 0 : (double)figure->value;
}

/* How many times longer the slow tier's latency is than the fast tier's. 0 where it is not longer (HBM may be the fast
 * tier by its bandwidth alone), or where one is unknown. */
static double latency_ratio(double fast, double slow)
{
    return fast > 0 && slow > fast ? slow / fast : 0;
}

double hm_plan_read_latency(const struct hm_part *fast, const struct hm_part *slow)
{
    return latency_ratio(read_latency(fast), read_latency(slow));
}

/* How many reads keep the slow tier busy for as long as one write does, by its bandwidths (a store does not wait for
 * the latency). 1 where a bandwidth is unknown, or writes are not slower. */
static double reads_per_write(const struct hm_part *part)
{
    const struct hm_figure *read = &part->tier->read_bandwidth_mbs, *write = &part->tier->write_bandwidth_mbs;
    bool is_known = read->origin != HM_ORIGIN_NONE && write->origin != HM_ORIGIN_NONE;
    return is_known && read->value > write->value && write->value > 0 ? (double)read->value / (double)write->value : 1;
}

/* The cost of a write to the slow tier, where a read costs `read`: by latency or by bandwidth, whichever is more. 0
 * where latency_ratio gives 0 for writes. */
static double write_cost(const struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                         double read)
{
    double by_latency = latency_ratio(write_latency(scene, fast), write_latency(scene, slow));
    double by_bandwidth = read * reads_per_write(slow);
    return by_latency > 0 && by_bandwidth > by_latency ? by_bandwidth : by_latency;
}

uint64_t hm_plan_cap(struct hm_scene *scene, const struct hm_part *fast)
{
    char size[2][24];
    const struct hm_migrate_keys *keys = &scene->keys;
    if (keys->fast_bytes > fast->capacity_bytes)
        hm_scene_warn(scene, "fast=: %s are more than %s has: %s",
                      hm_size_format(keys->fast_bytes, size[0], sizeof(size[0])), fast->label,
                      hm_size_format(fast->capacity_bytes, size[1], sizeof(size[1])));
    return keys->fast_bytes ? keys->fast_bytes : (uint64_t)((double)fast->capacity_bytes * keys->fast_percent / 100);
}

/* Do the latencies of a kind rise from the fast tier to the slow one's, `last`? 0: one is unknown. */
static bool rise(const struct hm_plan_migration *migration, bool is_write, double last)
{
    double before = 1;
    for (uint32_t i = 0; i < migration->n_middle; i++) {
        double latency = is_write ? migration->middle[i].write_latency : migration->middle[i].read_latency;
        if (latency < before)
            return false;
        before = latency;
    }
    return last >= before;
}

/* Leaves out the latencies of a kind that do not rise, and those of writes where those of reads are not known. */
static void keep_what_rises(struct hm_plan_migration *migration)
{
    bool reads_rise = rise(migration, false, migration->read_latency);
    bool writes_rise = reads_rise && rise(migration, true, migration->write_latency);
    for (uint32_t i = 0; i < migration->n_middle; i++) {
        struct hm_plan_middle *middle = &migration->middle[i];
        middle->read_latency = reads_rise ? middle->read_latency : 0;
        middle->write_latency = writes_rise ? middle->write_latency : 0;
    }
}

/* Adds a label to a list ("dram (node 1), ..."). One that does not fit is shown as dots. */
static void list_label(char *list, size_t size, const char *label)
{
    const char *between = list[0] ? ", " : "";
    size_t used = strlen(list);
    if (used + strlen(between) + strlen(label) + sizeof(", ...") <= size)
        snprintf(list + used, size - used, "%s%s", between, label);
    else if (used < 3 || strcmp(list + used - 3, "...") != 0)
        snprintf(list + used, size - used, "%s...", between);
}

/* Plan the tiers between the fast and the slow one. Writes their labels into `names`. */
static void plan_middle(struct hm_scene *scene, const struct hm_part *fast, char *names, size_t size)
{
    struct hm_plan_migration *migration = &scene->plan->migration;
    bool is_for_two = scene->keys.algorithm == HM_ALGORITHM_BINS;
    struct hm_part part;
    for (int i = 1; i + 1 < scene->tiers->n_tiers; i++) {
        hm_scene_part(scene, i, &part);
        if (part.n_nodes == 0)
            continue;
        list_label(names, size, part.label);
        if (is_for_two)
            continue;
        struct hm_plan_middle *middle = &migration->middle[migration->n_middle++];
        middle->nodes = part.nodes;
        middle->read_latency = latency_ratio(read_latency(fast), read_latency(&part));
        middle->write_latency = write_cost(scene, fast, &part, middle->read_latency);
    }
    keep_what_rises(migration);
    if (is_for_two && names[0]) {
        hm_scene_warn(scene, "the algorithm bins knows two tiers: what is in %s may go up, and nothing goes there",
                      names);
        names[0] = '\0';
    }
}

/* Make the sentence about the placement longer: it then also says what the migrator does. */
static void explain(struct hm_scene *scene, const struct hm_part *fast, const char *middle)
{
    struct hm_plan *plan = scene->plan;
    char size[24], cap[64] = "";
    const char *hot = plan->migration.keys.hot_by == HM_HOT_BY_WRITES ? "most written" : "hottest";
    bool is_fallback = hm_request_wants(scene->request, HM_WANTS_GUIDE) && !scene->request->guide.migrate;
    const char *when =
        is_fallback ? "a program that cannot be guided has its memory as with migrate, and there" : "then";
    size_t length = strlen(plan->reason);
    if (length > 0 && plan->reason[length - 1] == '.')
        length--;
    if (plan->migration.cap_bytes > 0)
        snprintf(cap, sizeof(cap), ", at most %s of it", hm_size_format(plan->migration.cap_bytes, size, sizeof(size)));
    snprintf(plan->reason + length, sizeof(plan->reason) - length,
             "; %s the migrator keeps the job's %s data in %s%s%s%s.", when, hot, fast->label, cap,
             middle[0] ? ", and the next in " : "", middle);
}

void hm_plan_complete_keys(struct hm_scene *scene, enum hm_hot_by own)
{
    scene->keys = scene->request->migrate;
    if (scene->keys.hot_by == HM_HOT_BY_UNSAID)
        scene->keys.hot_by = own;
    hm_request_complete_keys(&scene->keys, &scene->config->migrate.keys);
    hm_request_complete_keys(&scene->keys, &built_in);
}

void hm_plan_migrator(struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                      uint64_t cap_bytes)
{
    struct hm_plan_migration *migration = &scene->plan->migration;
    char middle[200] = "";
    migration->is_wanted = true;
    migration->fast_nodes = fast->nodes;
    migration->slow_nodes = slow->nodes;
    migration->keys = scene->keys;
    migration->cap_bytes = cap_bytes;
    if (migration->cap_bytes > 0)
        scene->plan->predicted_bandwidth_mbs = -1; /* the prediction is for a placement that the cap does not allow */
    migration->read_latency = hm_plan_read_latency(fast, slow);
    migration->write_latency = write_cost(scene, fast, slow, migration->read_latency);
    plan_middle(scene, fast, middle, sizeof(middle));
    hm_plan_balance(scene, fast, slow);
    explain(scene, fast, middle);
}

int hm_plan_migrate(struct hm_scene *scene)
{
    struct hm_part fast, slow;
    hm_plan_complete_keys(scene, HM_HOT_BY_UNSAID);
    if (hm_plan_spill(scene) < 0)
        return -1;
    hm_scene_part(scene, 0, &fast);
    hm_scene_part(scene, scene->tiers->n_tiers - 1, &slow);
    hm_plan_migrator(scene, &fast, &slow, hm_plan_cap(scene, &fast));
    return 0;
}

/* Can anything tell writes from reads? If not, large data would start in the slow tier and stay there. */
static bool can_tell_writes(const struct hm_scene *scene)
{
    bool is_sampled = hm_sampling_may_have(scene->keys.source, HM_SAMPLING_STORES);
    return !scene->abilities->lacks_marks || (is_sampled && !scene->abilities->lacks_store_samples);
}

int hm_plan_isolate(struct hm_scene *scene)
{
    struct hm_part fast, slow;
    hm_scene_part(scene, 0, &fast);
    hm_scene_part(scene, scene->tiers->n_tiers - 1, &slow);
    if (scene->tiers->n_tiers == 1 || fast.n_nodes == 0 || slow.n_nodes == 0)
        return hm_scene_refuse(scene, "nothing can be isolated: only %s has memory that this job can have",
                               fast.n_nodes > 0 ? fast.label : slow.label);
    if (scene->abilities->lacks_preload)
        return hm_fail(scene->error, ENODEV,
                       "--hybrid-mem=%.48s: the library that sends allocations to the slow tier is not installed on "
                       "this node: %s",
                       scene->request->text, hm_preload_library());
    hm_plan_complete_keys(scene, HM_HOT_BY_WRITES); /* the site's hot-by is only for migrate */
    if (scene->keys.hot_by == HM_HOT_BY_WRITES && !can_tell_writes(scene))
        return hm_fail(scene->error, ENODEV,
                       "--hybrid-mem=%.48s: nothing on this node tells writes from reads: that takes a kernel with "
                       "soft-dirty marks (CONFIG_MEM_SOFT_DIRTY), or source=perf where the processor samples stores: "
                       "use migrate",
                       scene->request->text);
    scene->plan->policy = HM_POLICY_DEFAULT;
    hm_scene_reason(scene, "Large allocations start in %s, and all else where Linux places it.", slow.label);
    hm_plan_migrator(scene, &fast, &slow, hm_plan_cap(scene, &fast));
    return 0;
}
