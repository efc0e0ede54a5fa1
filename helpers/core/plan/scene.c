/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fit.h"
#include "base/plural.h"

char *hm_scene_list(const char *noun, const struct hm_set *set, char *out, size_t size)
{
    char list[HM_LIST_SHOWN];
    snprintf(out, size, "%s%s %s", noun, hm_plural(hm_set_count(set), "", "s"), hm_set_format(set, list, sizeof(list)));
    return out;
}

void hm_scene_reason(const struct hm_scene *scene, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(scene->plan->reason, sizeof(scene->plan->reason), format, arguments);
    va_end(arguments);
}

void hm_scene_warn(const struct hm_scene *scene, const char *format, ...)
{
    va_list arguments;
    if (scene->plan->n_warnings == HM_MAX_WARNINGS)
        return;
    va_start(arguments, format);
    hm_fit_list(scene->plan->warning[scene->plan->n_warnings++], HM_WARNING, format, arguments);
    va_end(arguments);
}

/* Describe the node's tiers, "dram (nodes 0-1), pmem (nodes 2-3)", and what the cpuset hides. */
static void describe_node(const struct hm_scene *scene, char *out, size_t size)
{
    struct hm_set hidden;
    size_t used = 0;
    char list[HM_LIST_SHOWN + 8];
    hm_set_clear(&hidden);
    out[0] = '\0';
    for (int i = 0; i < scene->tiers->n_tiers && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s%s (%s)", i ? ", " : "", scene->tiers->tier[i].name,
                                 hm_scene_list("node", &scene->tiers->tier[i].nodes, list, sizeof(list)));
    for (int i = 0; i < scene->tiers->topology.n_nodes; i++) {
        const struct hm_node *node = &scene->tiers->topology.node[i];
        if (node->capacity_bytes > 0 && !node->allowed)
            hm_set_add(&hidden, (unsigned)node->id);
    }
    if (!hm_set_is_empty(&hidden) && used < size)
        snprintf(out + used, size - used, "; the job's cpuset hides %s",
                 hm_scene_list("node", &hidden, list, sizeof(list)));
}

int hm_scene_refuse(const struct hm_scene *scene, const char *format, ...)
{
    char text[200], has[240];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    describe_node(scene, has, sizeof(has));
    return hm_fail(scene->error, ENODEV, "--hybrid-mem=%.48s: %s: this node has %s", scene->request->text, text, has);
}

/* Find the sockets that have memory in some tier. */
static void find_sockets_with_memory(const struct hm_tiers *tiers, struct hm_set *sockets)
{
    hm_set_clear(sockets);
    for (int i = 0; i < tiers->topology.n_nodes; i++) {
        const struct hm_node *node = &tiers->topology.node[i];
        if (node->socket >= 0 && hm_tiers_of_node(tiers, node->id) >= 0)
            hm_set_add(sockets, (unsigned)node->socket);
    }
}

int hm_scene_choose(struct hm_scene *scene)
{
    struct hm_set with_memory, local;
    char list[HM_LIST_SHOWN + 8];
    find_sockets_with_memory(scene->tiers, &with_memory);
    hm_topology_sockets_of_cpus(&scene->tiers->topology, &scene->where->cpus, &local);
    scene->sockets = with_memory;
    if (scene->request->socket != HM_SOCKET_ALL && hm_set_is_empty(&local))
        return hm_scene_refuse(scene, "it cannot be told which socket the task's CPUs are on");
    if (scene->request->socket == HM_SOCKET_LOCAL) {
        hm_set_intersect(&scene->sockets, &local);
        if (hm_set_is_empty(&scene->sockets))
            return hm_scene_refuse(scene, "the task's CPUs are on %s, which has no memory",
                                   hm_scene_list("socket", &local, list, sizeof(list)));
    }
    if (scene->request->socket == HM_SOCKET_REMOTE) {
        hm_set_subtract(&scene->sockets, &local);
        if (hm_set_is_empty(&scene->sockets))
            return hm_scene_refuse(scene, "the task's CPUs are on %s, and no other socket has memory",
                                   hm_scene_list("socket", &local, list, sizeof(list)));
    }
    scene->all_sockets = hm_set_equal(&scene->sockets, &with_memory);
    scene->one_socket = hm_set_count(&scene->sockets) <= 1;
    return 0;
}

/* The read bandwidth of a part, in MB/s; 0: unknown. If the tier's figure comes from the configuration, if the part is
 * the whole tier, or if one of the part's nodes has no figure, it is the tier's figure times the part's share of the
 * tier's nodes. Else it is the sum of the nodes' figures. */
static double part_bandwidth(const struct hm_part *part, double sum_mbs, bool sum_is_known)
{
    const struct hm_figure *whole = &part->tier->read_bandwidth_mbs;
    unsigned n_tier = hm_set_count(&part->tier->nodes);
    bool is_whole = (unsigned)part->n_nodes == n_tier;
    if (whole->origin != HM_ORIGIN_NONE && (is_whole || whole->origin == HM_ORIGIN_CONFIG || !sum_is_known))
        return (double)whole->value * part->n_nodes / n_tier;
    return sum_is_known ? sum_mbs : 0;
}

void hm_scene_part(const struct hm_scene *scene, int index, struct hm_part *part)
{
    const struct hm_topology *topology = &scene->tiers->topology;
    double sum_mbs = 0;
    bool sum_is_known = true;
    char list[HM_LIST_SHOWN + 8];
    memset(part, 0, sizeof(*part));
    part->tier = &scene->tiers->tier[index];
    part->is_movable = true;
    for (int i = 0; i < topology->n_nodes; i++) {
        const struct hm_node *node = &topology->node[i];
        bool is_chosen = node->socket < 0 ? scene->request->socket == HM_SOCKET_ALL
                                          : hm_set_has(&scene->sockets, (unsigned)node->socket);
        if (!is_chosen || !hm_set_has(&part->tier->nodes, (unsigned)node->id))
            continue;
        hm_set_add(&part->nodes, (unsigned)node->id);
        part->n_nodes++;
        part->capacity_bytes += node->capacity_bytes;
        part->is_movable = part->is_movable && node->movable_only;
        sum_mbs += (double)node->read_bandwidth_mbs.value;
        sum_is_known = sum_is_known && node->read_bandwidth_mbs.origin != HM_ORIGIN_NONE;
    }
    if (part->n_nodes > 0)
        part->bandwidth_mbs = part_bandwidth(part, sum_mbs, sum_is_known);
    snprintf(part->label, sizeof(part->label), "%s (%s)", part->tier->name,
             hm_scene_list("node", &part->nodes, list, sizeof(list)));
}

double hm_scene_share(const struct hm_scene *scene, const struct hm_part *fast, const struct hm_part *slow,
                      double wanted)
{
    double size = (double)scene->where->size_bytes;
    if (size <= 0)
        return wanted;
    double most = (double)fast->capacity_bytes / size, least = 1 - (double)slow->capacity_bytes / size;
    if (wanted < least)
        wanted = least;
    return wanted > most ? most : wanted;
}
