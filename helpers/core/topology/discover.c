/* SPDX-License-Identifier: Apache-2.0 */
#include "discover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "parts.h"

extern char **environ;

/*
 * Restrict hwloc in a process of root's to its Linux back end: it opens no plugin, calls no device library, and the
 * environment, which may be a user's, decides nothing. hwloc takes such limits only from the environment
 * (HWLOC_COMPONENTS and HWLOC_PLUGINS_PATH, "Environment variables" in its manual).
 */
static void restrict_hwloc(void)
{
    for (char **entry = environ; *entry;) {
        const char *end = strchr(*entry, '=');
        char name[64];
        if (end && strncmp(*entry, "HWLOC_", 6) == 0 && (size_t)(end - *entry) < sizeof(name)) {
            memcpy(name, *entry, (size_t)(end - *entry));
            name[end - *entry] = '\0';
            unsetenv(name);
            entry = environ;
        } else {
            entry++;
        }
    }
    setenv("HWLOC_COMPONENTS", "linux,stop", 1);
    setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1);
}

void hm_discover_set(hwloc_const_bitmap_t bitmap, struct hm_set *set)
{
    hm_set_clear(set);
    for (int i = hwloc_bitmap_first(bitmap); i >= 0 && i < HM_SET_BITS; i = hwloc_bitmap_next(bitmap, i))
        hm_set_add(set, (unsigned)i);
}

static int check_file(const char *xml, struct hm_error *error)
{
    struct stat status;

    if (stat(xml, &status) < 0 || access(xml, R_OK) < 0)
        return hm_fail_errno(error, "%s", xml);
    if (!S_ISREG(status.st_mode))
        return hm_fail(error, EINVAL, "%s: not a file: give a topology in hwloc's XML (lstopo --disallowed FILE.xml)",
                       xml);
    return 0;
}

/*
 * Check for sysfs first: without it hwloc falls back to CPUID, which knows no nodes and is off in processes of root's.
 */
static int check_sysfs(struct hm_error *error)
{
    static const char folder[] = "/sys/devices/system/cpu";

    if (access(folder, R_OK | X_OK) < 0)
        return hm_fail_errno(error, "no topology without %s (is /sys mounted?)", folder);
    return 0;
}

/* Returns the loaded topology, or NULL. */
static hwloc_topology_t load(const char *xml, struct hm_error *error)
{
    hwloc_topology_t hwloc = NULL;

    if (xml ? check_file(xml, error) < 0 : check_sysfs(error) < 0)
        return NULL;
    if (hwloc_topology_init(&hwloc) < 0) {
        hm_fail(error, ENOMEM, "hwloc cannot start");
        return NULL;
    }
    /* Include nodes outside the cpuset, so that they can be reported as hidden. hwloc leaves memory-side caches out
     * unless they are asked for, as here. */
    hwloc_topology_set_flags(hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    hwloc_topology_set_io_types_filter(hwloc, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(hwloc, HWLOC_OBJ_MEMCACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if ((xml && hwloc_topology_set_xml(hwloc, xml) < 0) || hwloc_topology_load(hwloc) < 0) {
        if (xml)
            hm_fail(error, EINVAL, "%s: not a topology in hwloc's XML (lstopo --disallowed FILE.xml writes one)", xml);
        else
            hm_fail_errno(error, "hwloc cannot read this machine's topology");
        hwloc_topology_destroy(hwloc);
        return NULL;
    }
    return hwloc;
}

static int read_nodes(hwloc_topology_t hwloc, struct hm_topology *topology, struct hm_error *error)
{
    int id;

    hwloc_bitmap_foreach_begin(id, hwloc_topology_get_topology_nodeset(hwloc))
    {
        hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(hwloc, (unsigned)id);
        if (!object)
            continue;
        if (topology->n_nodes == HM_MAX_NODES || id >= HM_SET_BITS)
            return hm_fail(error, E2BIG, "node %d is one too many: hybridmem is built for %d NUMA nodes", id,
                           HM_MAX_NODES);
        struct hm_node *node = &topology->node[topology->n_nodes++];
        node->id = id;
        node->sysfs_tier = -1;
        node->allowed = hwloc_bitmap_isset(hwloc_topology_get_allowed_nodeset(hwloc), (unsigned)id) != 0;
        node->capacity_bytes = object->attr->numanode.local_memory;
        hm_discover_set(object->cpuset, &node->cpus);
        for (hwloc_obj_t up = object->parent; up && up->type == HWLOC_OBJ_MEMCACHE; up = up->parent) {
            if (up->attr->cache.size > node->side_cache_bytes)
                node->side_cache_bytes = up->attr->cache.size;
        }
        hm_discover_kind(object, node);
        hm_discover_figures(hwloc, object, node);
    }
    hwloc_bitmap_foreach_end();
    return 0;
}

/*
 * Find the nodes that have CPUs of their own. hwloc gives memory-only nodes the CPUs of their best initiators, and its
 * XML does not tell the difference. So each CPU is given to one of the nodes that it is local to: the node that is
 * local to the fewest CPUs. Among equals, this is the first one in hwloc's order, in which nodes with CPUs of their own
 * come first (topology-linux.c of hwloc). Persistent memory, CXL memory, and memory of DAX and other devices never have
 * CPUs.
 */
static void find_owners(hwloc_topology_t hwloc, struct hm_topology *topology)
{
    int cpu;

    hwloc_bitmap_foreach_begin(cpu, hwloc_topology_get_topology_cpuset(hwloc))
    {
        int owner = -1;
        unsigned order = 0, least = 0;
        for (int i = 0; i < topology->n_nodes; i++) {
            const struct hm_node *node = &topology->node[i];
            hwloc_obj_t object = hwloc_get_numanode_obj_by_os_index(hwloc, (unsigned)node->id);
            unsigned count = hm_set_count(&node->cpus);
            bool is_added = node->kind == HM_KIND_PMEM || node->kind == HM_KIND_CXL || node->is_device ||
                            hwloc_obj_get_info_by_name(object, "DAXType");
            if (is_added || !hm_set_has(&node->cpus, (unsigned)cpu))
                continue;
            if (owner < 0 || count < least || (count == least && object->logical_index < order)) {
                owner = i;
                least = count;
                order = object->logical_index;
            }
        }
        if (owner >= 0)
            topology->node[owner].has_cpus = true;
    }
    hwloc_bitmap_foreach_end();
}

static int read_sockets(hwloc_topology_t hwloc, struct hm_topology *topology, struct hm_error *error)
{
    int n = hwloc_get_nbobjs_by_type(hwloc, HWLOC_OBJ_PACKAGE);

    if (n > HM_MAX_SOCKETS)
        return hm_fail(error, E2BIG, "%d sockets are too many: hybridmem is built for %d", n, HM_MAX_SOCKETS);
    for (int i = 0; i < n; i++)
        hm_discover_set(hwloc_get_obj_by_type(hwloc, HWLOC_OBJ_PACKAGE, (unsigned)i)->cpuset,
                        &topology->socket_cpus[i]);
    topology->n_sockets = n;
    if (n <= 0) { /* some virtual machines do not tell: put all CPUs into one socket */
        hm_discover_set(hwloc_topology_get_topology_cpuset(hwloc), &topology->socket_cpus[0]);
        topology->n_sockets = 1;
    }
    hm_discover_set(hwloc_topology_get_allowed_cpuset(hwloc), &topology->allowed_cpus);
    return 0;
}

static void read_distances(hwloc_topology_t hwloc, struct hm_topology *topology)
{
    struct hwloc_distances_s *matrix = NULL;
    unsigned count = 1;

    if (hwloc_distances_get_by_type(hwloc, HWLOC_OBJ_NUMANODE, &count, &matrix, HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) <
            0 ||
        count == 0)
        return;
    for (unsigned i = 0; i < matrix->nbobjs; i++) {
        for (unsigned j = 0; j < matrix->nbobjs; j++) {
            int from = matrix->objs[i] ? hm_topology_index(topology, (int)matrix->objs[i]->os_index) : -1;
            int to = matrix->objs[j] ? hm_topology_index(topology, (int)matrix->objs[j]->os_index) : -1;
            hwloc_uint64_t value = matrix->values[i * matrix->nbobjs + j];
            if (from >= 0 && to >= 0)
                topology->distance[from][to] = value > UINT8_MAX ? UINT8_MAX : (uint8_t)value;
        }
    }
    hwloc_distances_release(hwloc, matrix);
}

/* The socket whose CPUs the node is local to; -1 where there are none or several. */
static int socket_by_locality(const struct hm_topology *topology, const struct hm_node *node)
{
    int found = -1;

    for (int i = 0; i < topology->n_sockets; i++) {
        if (!hm_set_intersects(&topology->socket_cpus[i], &node->cpus))
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* The socket of the nearest node with CPUs; -1 where two sockets are equally near, or nothing tells. */
static int socket_by_distance(const struct hm_topology *topology, int index)
{
    int least = 0, found = -1;

    for (int i = 0; i < topology->n_nodes; i++) {
        int distance = topology->distance[i][index];
        int socket = socket_by_locality(topology, &topology->node[i]);
        if (i == index || !topology->node[i].has_cpus || distance == 0)
            continue;
        if (least == 0 || distance < least) {
            least = distance;
            found = socket;
        } else if (distance == least && socket != found) {
            found = -1;
        }
    }
    return found;
}

static int discover(const char *xml, struct hm_topology *topology, struct hm_error *error)
{
    int result = -1;

    memset(topology, 0, sizeof(*topology));
    hwloc_topology_t hwloc = load(xml, error);
    if (!hwloc)
        return -1;
    if (read_nodes(hwloc, topology, error) < 0 || read_sockets(hwloc, topology, error) < 0)
        goto done;
    find_owners(hwloc, topology);
    read_distances(hwloc, topology);
    if (!xml && hwloc_topology_is_thissystem(hwloc))
        hm_discover_machine(topology);
    hm_discover_check_guess(topology);
    for (int i = 0; i < topology->n_nodes; i++) {
        int socket = socket_by_locality(topology, &topology->node[i]);
        topology->node[i].socket = socket >= 0 ? socket : socket_by_distance(topology, i);
    }
    result = 0;
done:
    hwloc_topology_destroy(hwloc);
    return result;
}

int hm_discover(const char *xml, struct hm_topology *topology, struct hm_error *error)
{
    if (geteuid() == 0)
        restrict_hwloc();
    return discover(xml, topology, error);
}

int hm_discover_plainly(struct hm_topology *topology, struct hm_error *error)
{
    return discover(NULL, topology, error);
}
