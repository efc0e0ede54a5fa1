/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of nodes.h that read sysfs, and the parser of a node's meminfo. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/files.h"
#include "base/meminfo.h"
#include "nodes.h"

#define NODES "/sys/devices/system/node"
#define ZONES "/proc/zoneinfo"
#define TEXT 8192
#define FAR 255
/* How many times watermarks are used once they are read: to read them takes as long as to move a hundred pages, and
 * they hardly ever change, unless a fast node has less free than they say. */
#define MARKS_USES 32
#define SHARE_RESERVED 50 /* a fiftieth of a node: more than the kernel's own watermarks with all usual settings */

int hm_nodes_parse_free(const char *text, uint64_t *free_bytes, uint64_t *file_bytes)
{
    uint64_t active, inactive, dirty, written;
    if (hm_meminfo_parse(text, "MemFree", free_bytes) != 0 || hm_meminfo_parse(text, "Active(file)", &active) != 0 ||
        hm_meminfo_parse(text, "Inactive(file)", &inactive) != 0 || hm_meminfo_parse(text, "Dirty", &dirty) != 0 ||
        hm_meminfo_parse(text, "Writeback", &written) != 0)
        return -1;
    *file_bytes = hm_less(active + inactive, dirty + written) / 2;
    return 0;
}

static int read_node(struct hm_node_state *node)
{
    char path[64], text[TEXT];
    snprintf(path, sizeof(path), NODES "/node%d/meminfo", node->id);
    if (hm_file_read_start(path, text, sizeof(text)) != 0 ||
        hm_meminfo_parse(text, "MemTotal", &node->total_bytes) != 0)
        return -1;
    if (hm_nodes_parse_free(text, &node->free_bytes, &node->file_bytes) != 0)
        return -1;
    if (node->without_files > 0)
        node->file_bytes = 0;
    node->without_files -= node->without_files > 0;
    node->free_bytes += node->file_bytes;
    return 0;
}

/* Reads a node's distances: one number for each node that is online, in ascending order of nodes. */
static void read_distances(struct hm_nodes *nodes, struct hm_node_state *node, const struct hm_set *online)
{
    char path[64], text[TEXT], *at = text;
    memset(node->distance, FAR, sizeof(node->distance));
    snprintf(path, sizeof(path), NODES "/node%d/distance", node->id);
    if (hm_file_read_start(path, text, sizeof(text)) != 0)
        return;
    for (int id = hm_set_next(online, 0); id >= 0; id = hm_set_next(online, (unsigned)id + 1)) {
        char *end;
        unsigned long value = strtoul(at, &end, 10);
        if (end == at)
            return;
        at = end;
        if (id < HM_NODES_NUMBERS && nodes->index[id] >= 0)
            node->distance[nodes->index[id]] = (uint8_t)(value < FAR ? value : FAR);
    }
}

/* Reads which CPUs a node has. */
static void read_cpus(struct hm_nodes *nodes, int index)
{
    char path[64], text[TEXT];
    struct hm_set cpus;
    snprintf(path, sizeof(path), NODES "/node%d/cpulist", nodes->node[index].id);
    if (hm_file_read_start(path, text, sizeof(text)) != 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    if (hm_set_parse(&cpus, text, NULL) != 0)
        return;
    nodes->node[index].n_cpus = hm_set_count(&cpus);
    for (int cpu = hm_set_next(&cpus, 0); cpu >= 0; cpu = hm_set_next(&cpus, (unsigned)cpu + 1))
        nodes->of_cpu[cpu] = (int8_t)index;
}

static int add_tier(struct hm_nodes *nodes, const struct hm_set *set, unsigned tier, struct hm_error *error)
{
    for (int id = hm_set_next(set, 0); id >= 0; id = hm_set_next(set, (unsigned)id + 1)) {
        if (id >= HM_NODES_NUMBERS)
            return hm_fail(error, EINVAL, "node %d is too high: hybridmem is built for nodes 0 to %d", id,
                           HM_NODES_NUMBERS - 1);
        if (nodes->n == HM_MAX_NODES)
            return hm_fail(error, EINVAL, "node %d is one too many: hybridmem is built for %d nodes in all tiers", id,
                           HM_MAX_NODES);
        if (nodes->index[id] >= 0)
            return hm_fail(error, EINVAL,
                           "node %d is in two tiers: name it in one of --fast-nodes, --middle-tier and --slow-nodes",
                           id);
        struct hm_node_state *node = &nodes->node[nodes->n];
        *node = (struct hm_node_state){.id = id, .tier = tier};
        if (read_node(node) != 0)
            return hm_fail(error, ENOENT, "there is no node %d with memory on this machine", id);
        nodes->index[id] = (int8_t)nodes->n++;
    }
    return 0;
}

static void keep_reserve(struct hm_nodes *nodes, uint64_t reserve_bytes)
{
    uint64_t total = hm_nodes_fast_total(nodes);
    for (int i = 0; i < nodes->n; i++) {
        struct hm_node_state *node = &nodes->node[i];
        if (node->tier == 0 && reserve_bytes != UINT64_MAX && total > 0)
            node->most_kept_bytes = (uint64_t)((double)reserve_bytes * (double)node->total_bytes / (double)total);
        else
            node->most_kept_bytes = node->total_bytes / SHARE_RESERVED;
        node->kept_bytes = node->most_kept_bytes;
    }
}

int hm_nodes_init(struct hm_nodes *nodes, const struct hm_set *tiers, unsigned n_tiers, uint64_t reserve_bytes,
                  struct hm_error *error)
{
    char text[TEXT];
    struct hm_set online;
    nodes->n = 0;
    nodes->marks_left = 0;
    nodes->n_tiers = n_tiers;
    nodes->is_bound = false;
    memset(nodes->index, -1, sizeof(nodes->index));
    memset(nodes->of_cpu, -1, sizeof(nodes->of_cpu));
    for (unsigned tier = 0; tier < n_tiers; tier++)
        if (add_tier(nodes, &tiers[tier], tier, error) != 0)
            return -1;
    if (hm_file_read_start(NODES "/online", text, sizeof(text)) != 0)
        return hm_fail_errno(error, "cannot read " NODES "/online");
    text[strcspn(text, "\n")] = '\0';
    if (hm_set_parse(&online, text, error) != 0)
        return -1;
    for (int i = 0; i < nodes->n; i++) {
        read_distances(nodes, &nodes->node[i], &online);
        read_cpus(nodes, i);
    }
    keep_reserve(nodes, reserve_bytes);
    return 0;
}

/* First touch fills a tier in the middle beyond what is to be kept. There a page that leaves makes room for another:
 * else what was planned to change places would go to the slowest tier. */
static void keep_what_is_free(const struct hm_nodes *nodes, struct hm_node_state *node)
{
    if (node->tier > 0 && node->tier + 1 < nodes->n_tiers)
        node->kept_bytes = hm_least(node->most_kept_bytes, node->free_bytes);
}

void hm_nodes_refresh(struct hm_nodes *nodes)
{
    for (int i = 0; i < nodes->n; i++) {
        nodes->node[i].closed_for -= nodes->node[i].closed_for > 0;
        if (read_node(&nodes->node[i]) != 0)
            nodes->node[i].free_bytes = 0;
        keep_what_is_free(nodes, &nodes->node[i]);
    }
}

/* Reads the watermarks of all nodes, and sets how many times they may be used. Returns false if that fails. */
static bool read_watermarks(struct hm_nodes *nodes)
{
    char line[256];
    struct hm_zone zone = {.node = -1};
    FILE *file = fopen(ZONES, "re");
    if (!file)
        return false;
    memset(nodes->marks, 0, sizeof(nodes->marks));
    nodes->marks_left = MARKS_USES;
    while (fgets(line, sizeof(line), file)) {
        int8_t index = hm_zone_take(&zone, line) && zone.node < HM_NODES_NUMBERS ? nodes->index[zone.node] : -1;
        if (index < 0)
            continue;
        hm_zone_add(&zone, &nodes->marks[index]);
        if (nodes->node[index].tier == 0 && hm_zone_is_short(&zone))
            nodes->marks_left = 1;
    }
    if (ferror(file))
        nodes->marks_left = 0;
    fclose(file);
    return nodes->marks_left > 0;
}

static bool know_watermarks(struct hm_nodes *nodes)
{
    if (nodes->marks_left == 0 && !read_watermarks(nodes))
        return false;
    nodes->marks_left--;
    return true;
}

void hm_nodes_keep(struct hm_nodes *nodes, uint64_t expected_bytes)
{
    double total = (double)hm_nodes_fast_total(nodes); /* 0: its memory is offline */
    bool is_known = expected_bytes != UINT64_MAX && total > 0 && know_watermarks(nodes);
    for (int i = 0; i < nodes->n; i++) {
        struct hm_node_state *node = &nodes->node[i];
        if (node->tier > 0)
            continue;
        node->expected_bytes = is_known ? (uint64_t)((double)expected_bytes * (double)node->total_bytes / total) : 0;
        node->kept_bytes = is_known ? hm_nodes_kept(&nodes->marks[i], node->most_kept_bytes, node->expected_bytes,
                                                    2 * node->file_bytes)
                                    : node->most_kept_bytes;
    }
}
