/* SPDX-License-Identifier: Apache-2.0 */
#include "tiersprint.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "base/size.h"
#include "base/words.h"
#include "cli/draw/figures.h"
#include "cli/draw/table.h"

#define CELL HM_TABLE_CELL
#define INDENT 2 /* indent of a line's continuation */
#define MOST_TEXT 2048

/* The sockets that a tier's nodes are nearest to. */
static struct hm_set sockets_of(const struct hm_tiers *tiers, const struct hm_tier *tier)
{
    struct hm_set sockets;

    hm_set_clear(&sockets);
    for (int i = 0; i < tiers->topology.n_nodes; i++) {
        const struct hm_node *node = &tiers->topology.node[i];
        if (node->socket >= 0 && hm_set_has(&tier->nodes, (unsigned)node->id))
            hm_set_add(&sockets, (unsigned)node->socket);
    }
    return sockets;
}

static void cell_name(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    (void)tiers;
    snprintf(cell, CELL, "%s", tier->name);
}

static void cell_kind(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    (void)tiers;
    if (tier->kind == HM_KIND_UNKNOWN)
        snprintf(cell, CELL, "unknown");
    else
        snprintf(cell, CELL, "%s (%s)", hm_kind_name(tier->kind), hm_origin_name(tier->kind_origin));
}

static void cell_nodes(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    (void)tiers;
    hm_set_format(&tier->nodes, cell, CELL);
}

static void cell_sockets(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    struct hm_set sockets = sockets_of(tiers, tier);
    if (hm_set_is_empty(&sockets))
        snprintf(cell, CELL, "unknown");
    else
        hm_set_format(&sockets, cell, CELL);
}

static void cell_capacity(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    (void)tiers;
    char size[32];
    snprintf(cell, CELL, "%s (%s)", hm_size_format(tier->capacity_bytes, size, sizeof(size)),
             hm_origin_name(HM_ORIGIN_HWLOC));
}

static void cell_free(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    char size[32];
    if (!tiers->topology.has_free)
        snprintf(cell, CELL, "unknown");
    else
        snprintf(cell, CELL, "%s (%s)", hm_size_format(tier->free_bytes, size, sizeof(size)),
                 hm_origin_name(HM_ORIGIN_SYSFS));
}

static void cell_latency(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    const struct hm_figure *figure = &tier->read_latency_ns;
    (void)tiers;
    if (figure->origin == HM_ORIGIN_NONE)
        snprintf(cell, CELL, "unknown");
    else
        snprintf(cell, CELL, "%" PRIu64 " ns (%s)", figure->value, hm_origin_name(figure->origin));
}

static void cell_bandwidth(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL])
{
    const struct hm_figure *figure = &tier->read_bandwidth_mbs;
    (void)tiers;
    if (figure->origin == HM_ORIGIN_NONE)
        snprintf(cell, CELL, "unknown");
    else
        snprintf(cell, CELL, "%.1f GB/s (%s)", (double)figure->value / 1000, hm_origin_name(figure->origin));
}

static const struct hm_column columns[] = {
    {.title = "TIER"},     {.title = "KIND"}, {.title = "NODES"},        {.title = "SOCKETS"},
    {.title = "CAPACITY"}, {.title = "FREE"}, {.title = "READ LATENCY"}, {.title = "READ BANDWIDTH"},
};
#define N_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static void (*const writers[N_COLUMNS])(const struct hm_tiers *tiers, const struct hm_tier *tier, char cell[CELL]) = {
    cell_name, cell_kind, cell_nodes, cell_sockets, cell_capacity, cell_free, cell_latency, cell_bandwidth,
};

static void write_cell(const void *data, size_t row, size_t column, char cell[HM_TABLE_CELL])
{
    const struct hm_tiers *tiers = data;
    writers[column](tiers, &tiers->tier[row], cell);
}

/*
 * Describes what each tier has near the socket (-1: near no single socket), as "0 of fast (1.9 GiB), 2 of slow (8.0
 * GiB)"; "" for nothing.
 */
static void describe_socket(const struct hm_tiers *tiers, int socket, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int t = 0; t < tiers->n_tiers && used < size; t++) {
        struct hm_set nodes;
        uint64_t bytes = 0;
        char list[CELL], amount[32];
        hm_set_clear(&nodes);
        for (int i = 0; i < tiers->topology.n_nodes; i++) {
            const struct hm_node *node = &tiers->topology.node[i];
            if (node->socket != socket || !hm_set_has(&tiers->tier[t].nodes, (unsigned)node->id))
                continue;
            hm_set_add(&nodes, (unsigned)node->id);
            bytes += node->capacity_bytes;
        }
        if (!hm_set_is_empty(&nodes))
            used += (size_t)snprintf(text + used, size - used, "%s%s of %s (%s)", used > 0 ? ", " : "",
                                     hm_set_format(&nodes, list, sizeof(list)), tiers->tier[t].name,
                                     hm_size_format(bytes, amount, sizeof(amount)));
    }
}

/*
 * Prints lines such as "Socket 0 has nodes 0 of fast (1.9 GiB), 2 of slow (8.0 GiB)". Nodes that are near no single
 * socket come last.
 */
static void print_sockets(const struct hm_tiers *tiers, size_t screen)
{
    char text[MOST_TEXT];
    for (int socket = 0; socket < tiers->topology.n_sockets; socket++) {
        describe_socket(tiers, socket, text, sizeof(text));
        if (text[0])
            hm_words_put_row(stdout, screen, INDENT, text, "Socket %d has nodes", socket);
    }
    describe_socket(tiers, -1, text, sizeof(text));
    if (text[0])
        hm_words_put_row(stdout, screen, INDENT, text, "Near no single socket are nodes");
}

static void print_notes(const struct hm_tiers *tiers, size_t screen)
{
    if (tiers->n_tiers > 1)
        hm_words_put_row(stdout, screen, INDENT, hm_origin_name(tiers->order_origin), "Fastest first, by:");
    for (int i = 0; i < tiers->topology.n_nodes; i++) {
        const struct hm_node *node = &tiers->topology.node[i];
        char text[128], size[32];
        if (hm_tiers_of_node(tiers, node->id) < 0)
            continue;
        snprintf(text, sizeof(text), "is behind a memory-side cache of %s (Memory Mode, or HBM as a cache)",
                 hm_size_format(node->side_cache_bytes, size, sizeof(size)));
        if (node->side_cache_bytes > 0)
            hm_words_put_row(stdout, screen, INDENT, text, "Node %d", node->id);
        if (node->movable_only)
            hm_words_put_row(stdout, screen, INDENT,
                             "has movable memory only: the kernel keeps page tables and slab on other nodes", "Node %d",
                             node->id);
    }
    for (int i = 0; i < tiers->n_warnings; i++)
        hm_words_put_row(stdout, screen, INDENT, tiers->warning[i], "warning:");
}

void hm_tiersprint_table(const struct hm_tiers *tiers)
{
    size_t screen = hm_words_columns(stdout);
    const struct hm_table table = {columns, N_COLUMNS, (size_t)tiers->n_tiers, write_cell, tiers};
    hm_table_print(stdout, &table, screen);
    printf("\n");
    print_sockets(tiers, screen);
    print_notes(tiers, screen);
}

static json_t *json_figure(const struct hm_figure *figure)
{
    return figure->origin == HM_ORIGIN_NONE ? json_null() : json_integer((json_int_t)figure->value);
}

static json_t *json_tier(const struct hm_tiers *tiers, const struct hm_tier *tier)
{
    bool has_free = tiers->topology.has_free;
    struct hm_set sockets = sockets_of(tiers, tier);

    return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:o, s:o, s:{s:s, s:s, s:s, s:s, s:s, s:s}}", "name", tier->name,
                     "kind", hm_kind_name(tier->kind), "nodes", hm_figures_set(&tier->nodes), "sockets",
                     hm_figures_set(&sockets), "capacity_bytes", (json_int_t)tier->capacity_bytes, "free_bytes",
                     has_free ? json_integer((json_int_t)tier->free_bytes) : json_null(), "read_latency_ns",
                     json_figure(&tier->read_latency_ns), "read_bandwidth_mbs", json_figure(&tier->read_bandwidth_mbs),
                     "origin", "kind", hm_origin_name(tier->kind_origin), "capacity_bytes",
                     hm_origin_name(HM_ORIGIN_HWLOC), "free_bytes",
                     hm_origin_name(has_free ? HM_ORIGIN_SYSFS : HM_ORIGIN_NONE), "read_latency_ns",
                     hm_origin_name(tier->read_latency_ns.origin), "read_bandwidth_mbs",
                     hm_origin_name(tier->read_bandwidth_mbs.origin), "order", hm_origin_name(tiers->order_origin));
}

int hm_tiersprint_json(const struct hm_tiers *tiers)
{
    json_t *array = json_array(), *warnings = json_array();

    for (int i = 0; i < tiers->n_tiers; i++)
        json_array_append_new(array, json_tier(tiers, &tiers->tier[i]));
    for (int i = 0; i < tiers->n_warnings; i++)
        json_array_append_new(warnings, json_string(tiers->warning[i]));
    json_t *all = json_pack("{s:o, s:o}", "tiers", hm_figures_whole(array, (size_t)tiers->n_tiers), "warnings",
                            hm_figures_whole(warnings, (size_t)tiers->n_warnings));
    return hm_figures_end(stdout, all, JSON_INDENT(2));
}
