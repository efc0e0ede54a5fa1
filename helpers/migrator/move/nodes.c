/* SPDX-License-Identifier: Apache-2.0 */
#include "nodes.h"

#include "base/amount.h"
#include "base/pagesize.h"

/* If the kernel found no room on a node although it has file cache, this cache does not count as free for this many
 * refreshes (one in each phase). */
#define WITHOUT_FILES 8

static int index_of(const struct hm_nodes *nodes, int id)
{
    return id >= 0 && id < HM_NODES_NUMBERS ? nodes->index[id] : -1;
}

unsigned hm_nodes_tier(const struct hm_nodes *nodes, int id)
{
    int index = index_of(nodes, id);
    return index >= 0 ? nodes->node[index].tier : nodes->n_tiers - 1;
}

uint64_t hm_nodes_fast_total(const struct hm_nodes *nodes)
{
    uint64_t total = 0;
    for (int i = 0; i < nodes->n; i++)
        total += nodes->node[i].tier == 0 ? nodes->node[i].total_bytes : 0;
    return total;
}

static uint64_t room(const struct hm_node_state *node)
{
    return node->closed_for > 0 ? 0 : hm_less(node->free_bytes, node->kept_bytes);
}

uint64_t hm_nodes_fast_kept(const struct hm_nodes *nodes)
{
    uint64_t sum = 0;
    for (int i = 0; i < nodes->n; i++)
        sum += nodes->node[i].tier == 0 ? nodes->node[i].kept_bytes : 0;
    return sum;
}

uint64_t hm_nodes_fast_short(const struct hm_nodes *nodes)
{
    uint64_t sum = 0;
    for (int i = 0; i < nodes->n; i++) {
        const struct hm_node_state *node = &nodes->node[i];
        if (node->tier == 0 && node->closed_for == 0)
            sum += hm_least(hm_less(node->kept_bytes, node->free_bytes), node->expected_bytes);
    }
    return sum;
}

uint64_t hm_nodes_kept(const struct hm_watermarks *marks, uint64_t most_bytes, uint64_t expected_bytes,
                       uint64_t cache_bytes)
{
    uint64_t most = hm_most(most_bytes, marks->low_bytes);
    uint64_t wanted = marks->low_bytes + hm_least(expected_bytes, most - marks->low_bytes);
    return hm_least(hm_most(wanted, hm_less(marks->high_bytes, cache_bytes)), most);
}

uint64_t hm_nodes_room(const struct hm_nodes *nodes, unsigned tier)
{
    uint64_t sum = 0;
    for (int i = 0; i < nodes->n; i++)
        sum += nodes->node[i].tier == tier ? room(&nodes->node[i]) : 0;
    return sum;
}

bool hm_nodes_matter(const struct hm_nodes *nodes)
{
    int n = 0;
    for (int i = 0; i < nodes->n; i++)
        n += nodes->node[i].n_cpus > 0;
    return n > 1;
}

void hm_nodes_bind(struct hm_nodes *nodes, const struct hm_set *cpus)
{
    unsigned n[HM_MAX_NODES] = {0};
    bool is_known = false, is_everywhere = true;
    for (int cpu = hm_set_next(cpus, 0); cpu >= 0; cpu = hm_set_next(cpus, (unsigned)cpu + 1))
        if (nodes->of_cpu[cpu] >= 0)
            n[nodes->of_cpu[cpu]]++;
    for (int i = 0; i < nodes->n; i++) {
        is_known = is_known || n[i] > 0;
        is_everywhere = is_everywhere && (n[i] > 0 || nodes->node[i].n_cpus == 0);
        nodes->node[i].away = 0;
        for (int other = 0; other < nodes->n; other++)
            nodes->node[i].away += (uint64_t)n[other] * nodes->node[other].distance[i];
    }
    nodes->is_bound = is_known && !is_everywhere;
}

/* How far node i is from the process, or from the page, whose node has the index `here`; 0: not known. */
static uint64_t away(const struct hm_nodes *nodes, int here, int i)
{
    return nodes->is_bound ? nodes->node[i].away : here >= 0 ? nodes->node[here].distance[i] : 0;
}

int hm_nodes_take(struct hm_nodes *nodes, int from, unsigned tier, uint64_t bytes)
{
    uint64_t huge_bytes = hm_huge_pages() * hm_page_size();
    int here = index_of(nodes, from), best = -1;
    for (int i = 0; i < nodes->n; i++) {
        const struct hm_node_state *node = &nodes->node[i];
        if (node->tier != tier || room(node) < bytes)
            continue;
        uint64_t far = away(nodes, here, i), least = best >= 0 ? away(nodes, here, best) : UINT64_MAX;
        if (far < least || (far == least && room(node) / huge_bytes > room(&nodes->node[best]) / huge_bytes))
            best = i;
    }
    if (best < 0)
        return -1;
    nodes->node[best].free_bytes -= bytes;
    return nodes->node[best].id;
}

void hm_nodes_give(struct hm_nodes *nodes, int id, uint64_t bytes)
{
    int index = index_of(nodes, id);
    if (index >= 0)
        nodes->node[index].free_bytes += bytes;
}

void hm_nodes_fill(struct hm_nodes *nodes, int id)
{
    int index = index_of(nodes, id);
    if (index < 0)
        return;
    nodes->node[index].free_bytes = 0;
    if (nodes->node[index].file_bytes > 0)
        nodes->node[index].without_files = WITHOUT_FILES;
}

void hm_nodes_close(struct hm_nodes *nodes, int id)
{
    int index = index_of(nodes, id);
    if (index < 0)
        return;
    struct hm_node_state *node = &nodes->node[index];
    node->closed_for = node->pause = (unsigned)hm_least(node->pause > 0 ? 2 * node->pause : 1, HM_NODES_PAUSE);
}

void hm_nodes_admit(struct hm_nodes *nodes, int id)
{
    int index = index_of(nodes, id);
    if (index >= 0)
        nodes->node[index].pause = 0;
}
