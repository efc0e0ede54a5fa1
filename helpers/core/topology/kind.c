/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kind and the figures of a node by what hwloc knows. */
#include <string.h>

#include "parts.h"

/* hwloc's words (subtype of the node, or its DAXType) that stand for one kind only. "SPM" (specific-purpose memory)
 * does not: it may be HBM or CXL. */
static const struct {
    const char *word;
    enum hm_kind kind;
} kind_words[] = {
    {"DRAM", HM_KIND_DRAM}, {"HBM", HM_KIND_HBM}, {"MCDRAM", HM_KIND_HBM}, {"NVM", HM_KIND_PMEM}, {"CXL", HM_KIND_CXL},
};

static enum hm_kind kind_of_word(const char *word)
{
    for (size_t i = 0; word && i < sizeof(kind_words) / sizeof(kind_words[0]); i++) {
        size_t length = strlen(kind_words[i].word);
        /* "CXL-DRAM", "CXL-NVM": what counts for placement is that it is CXL memory */
        if (strncmp(word, kind_words[i].word, length) == 0 && (word[length] == '\0' || word[length] == '-'))
            return kind_words[i].kind;
    }
    return HM_KIND_UNKNOWN;
}

/*
 * Is the node CXL memory? The DAX device that the memory was onlined from tells this better than any figure: the
 * device's path in sysfs is below the CXL root (ACPI0017) for CXL memory, and below the NVDIMM bus for PMem. hwloc
 * before 2.10 only gives this path (DAXParent); later releases also name the CXL device.
 */
static bool is_behind_cxl(hwloc_obj_t object)
{
    const char *parent = hwloc_obj_get_info_by_name(object, "DAXParent");

    return hwloc_obj_get_info_by_name(object, "CXLDevice") ||
           (parent && (strstr(parent, "ACPI0017") || strstr(parent, "cxl")));
}

void hm_discover_kind(hwloc_obj_t object, struct hm_node *node)
{
    if (object->subtype && strstr(object->subtype, "GPUMemory")) {
        node->is_device = true;
        return;
    }
    node->kind = is_behind_cxl(object) ? HM_KIND_CXL : kind_of_word(object->subtype);
    if (node->kind == HM_KIND_UNKNOWN)
        node->kind = kind_of_word(hwloc_obj_get_info_by_name(object, "DAXType"));
    if (node->kind != HM_KIND_UNKNOWN)
        node->kind_origin = HM_ORIGIN_HWLOC;
}

void hm_discover_check_guess(struct hm_topology *topology)
{
    bool has_bare_dram = false, has_hbm_with_cpus = false;

    for (int i = 0; i < topology->n_nodes; i++) {
        const struct hm_node *node = &topology->node[i];
        has_bare_dram = has_bare_dram || (node->kind == HM_KIND_DRAM && !node->has_cpus && node->capacity_bytes > 0);
        has_hbm_with_cpus = has_hbm_with_cpus || (node->kind == HM_KIND_HBM && node->has_cpus);
    }
    /* From 2.10 on hwloc guesses: of two unknown kinds it calls the faster one HBM where it has at least twice the
     * bandwidth. Beside slow memory this makes DRAM "HBM". */
    for (int i = 0; i < topology->n_nodes && has_bare_dram && has_hbm_with_cpus; i++) {
        struct hm_node *node = &topology->node[i];
        if (node->kind == HM_KIND_DRAM || node->kind == HM_KIND_HBM) {
            node->kind = HM_KIND_UNKNOWN;
            node->kind_origin = HM_ORIGIN_NONE;
        }
    }
}

/* Read an attribute's value from the best initiator, under the first of two names that has a value. */
static struct hm_figure read_figure(hwloc_topology_t hwloc, hwloc_obj_t object, const char *name, const char *or_name)
{
    const char *const names[] = {name, or_name};

    for (int i = 0; i < 2; i++) {
        hwloc_memattr_id_t id;
        hwloc_uint64_t value = 0;
        struct hwloc_location initiator;
        if (hwloc_memattr_get_by_name(hwloc, names[i], &id) == 0 &&
            hwloc_memattr_get_best_initiator(hwloc, id, object, 0, &initiator, &value) == 0 && value > 0)
            return (struct hm_figure){value, HM_ORIGIN_ATTRIBUTES};
    }
    return (struct hm_figure){0};
}

/*
 * Units: bandwidths are MB/s. hwloc's manual says MiB/s, but its Linux back end does not convert the numbers that it
 * reads below /sys/devices/system/node/nodeN/accessM/initiators. These are MB/s, as in ACPI's HMAT (6.5, table 5.147;
 * Documentation/ABI/stable/sysfs-devices-node in Linux). Latencies are nanoseconds everywhere.
 *
 * Names: hwloc before 2.8 has no separate read and write attributes; "Bandwidth" was then the read bandwidth, later the
 * mean.
 */
void hm_discover_figures(hwloc_topology_t hwloc, hwloc_obj_t object, struct hm_node *node)
{
    node->read_bandwidth_mbs = read_figure(hwloc, object, "ReadBandwidth", "Bandwidth");
    node->write_bandwidth_mbs = read_figure(hwloc, object, "WriteBandwidth", "Bandwidth");
    node->read_latency_ns = read_figure(hwloc, object, "ReadLatency", "Latency");
    node->write_latency_ns = read_figure(hwloc, object, "WriteLatency", "Latency");
}
