/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from /sys and /proc what hwloc does not tell of this machine's nodes. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/meminfo.h"
#include "parts.h"

#define NODES "/sys/devices/system/node"
#define TIERS "/sys/devices/virtual/memory_tiering"

/* Read a file with one line in the kernel's list format. */
static bool read_list(const char *path, struct hm_set *set)
{
    char line[4096];
    return hm_file_read_line(path, line, sizeof(line)) == 0 && hm_set_parse(set, line, NULL) == 0;
}

/* Read the free bytes from a meminfo file. */
static bool read_free(const char *path, uint64_t *bytes)
{
    char text[4096];
    return hm_file_read_start(path, text, sizeof(text)) == 0 && hm_meminfo_parse(text, "MemFree", bytes) == 0;
}

static void read_nodes(struct hm_topology *topology)
{
    bool has_free = topology->n_nodes > 0;

    for (int i = 0; i < topology->n_nodes; i++) {
        struct hm_node *node = &topology->node[i];
        struct hm_set cpus;
        char path[96];
        snprintf(path, sizeof(path), NODES "/node%d/cpulist", node->id);
        if (read_list(path, &cpus))
            node->has_cpus = !hm_set_is_empty(&cpus);
        snprintf(path, sizeof(path), NODES "/node%d/meminfo", node->id);
        /* A kernel without NUMA has no node folders, and one node. */
        if (!read_free(path, &node->free_bytes) &&
            (topology->n_nodes > 1 || !read_free("/proc/meminfo", &node->free_bytes)))
            has_free = false;
    }
    topology->has_free = has_free;
}

/* Read which nodes the kernel lets this process use (cpuset.mems), from /proc/self/status: that works in every cgroup
 * layout and container. */
static void read_allowed(struct hm_topology *topology)
{
    static const char key[] = "Mems_allowed_list:";
    char line[4096];
    struct hm_set allowed;
    FILE *file = fopen("/proc/self/status", "re");

    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, key, sizeof(key) - 1) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        if (hm_set_parse(&allowed, line + sizeof(key) - 1 + strspn(line + sizeof(key) - 1, " \t"), NULL) == 0) {
            for (int i = 0; i < topology->n_nodes; i++)
                topology->node[i].allowed = hm_set_has(&allowed, (unsigned)topology->node[i].id);
        }
    }
    fclose(file);
}

static void read_memory_tiers(struct hm_topology *topology)
{
    DIR *folder = opendir(TIERS);

    if (!folder)
        return;
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        struct hm_set nodes;
        char path[96];
        int tier, end = 0;
        if (sscanf(entry->d_name, "memory_tier%9d%n", &tier, &end) != 1 || entry->d_name[end] != '\0' || tier < 0)
            continue;
        snprintf(path, sizeof(path), TIERS "/memory_tier%d/nodelist", tier);
        if (!read_list(path, &nodes))
            continue;
        for (int i = 0; i < topology->n_nodes; i++) {
            if (hm_set_has(&nodes, (unsigned)topology->node[i].id))
                topology->node[i].sysfs_tier = tier;
        }
    }
    closedir(folder);
}

/*
 * Find nodes with all their pages in ZONE_MOVABLE: they have no room for page tables and slab. In /proc/zoneinfo a line
 * "Node 2, zone Movable" begins a zone, and "present N" in it counts its pages. The zone Device is not counted, as it
 * is not ordinary memory of the node.
 */
static void read_zones(struct hm_topology *topology)
{
    uint64_t movable[HM_MAX_NODES] = {0}, other[HM_MAX_NODES] = {0};
    char line[256], zone[32] = "";
    int index = -1;
    FILE *file = fopen("/proc/zoneinfo", "re");

    if (!file)
        return;
    while (fgets(line, sizeof(line), file)) {
        int id;
        unsigned long long pages;
        if (sscanf(line, "Node %d, zone %31s", &id, zone) == 2)
            index = hm_topology_index(topology, id);
        else if (index >= 0 && sscanf(line, " present %llu", &pages) == 1 && strcmp(zone, "Device") != 0)
            *(strcmp(zone, "Movable") == 0 ? &movable[index] : &other[index]) += pages;
    }
    fclose(file);
    for (int i = 0; i < topology->n_nodes; i++)
        topology->node[i].movable_only = movable[i] > 0 && other[i] == 0;
}

void hm_discover_machine(struct hm_topology *topology)
{
    read_nodes(topology);
    read_allowed(topology);
    read_memory_tiers(topology);
    read_zones(topology);
}
