/* SPDX-License-Identifier: Apache-2.0 */
#include "layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hm_reason_add(char *reason, const char *format, ...)
{
    va_list arguments;
    size_t used = strlen(reason);
    if (used > 0)
        used += (size_t)snprintf(reason + used, HM_ALLOC_REASON - used, "; ");
    if (used >= HM_ALLOC_REASON)
        return;
    va_start(arguments, format);
    vsnprintf(reason + used, HM_ALLOC_REASON - used, format, arguments);
    va_end(arguments);
}

/* The rank of each kind of spot under a policy. */
struct ranks {
    int fast, slow, file; /* 0 is wanted first; -1: not used */
};

static struct ranks ranks_of(const struct hm_layout_wish *wish)
{
    static const struct ranks by_policy[] = {[HM_ALLOC_SPILL] = {0, 1, -1},
                                             [HM_ALLOC_SPLIT] = {2, 1, 0},
                                             [HM_ALLOC_FAST] = {0, 1, -1},
                                             [HM_ALLOC_SLOW] = {1, 0, -1},
                                             [HM_ALLOC_INTERLEAVE] = {0, 0, -1}};
    if (wish->policy == HM_ALLOC_SPLIT && wish->hint.use == HM_ALLOC_WRITE_INTENSIVE)
        return by_policy[HM_ALLOC_FAST];
    if (wish->policy == HM_ALLOC_SPLIT && wish->n_folders == 0)
        return by_policy[HM_ALLOC_SLOW];
    return by_policy[wish->policy];
}

static void add_spot(struct hm_place *place, int node, int folder, int lane, int rank, uint64_t room)
{
    if (place->n_spots < HM_PLACE_SPOTS)
        place->spot[place->n_spots++] = (struct hm_place_spot){node, folder, lane, rank, room};
}

static void add_files(const struct hm_layout_wish *wish, struct hm_place *place, int rank)
{
    for (int i = 0; i < wish->n_folders; i++)
        add_spot(place, -1, i, i, rank, wish->folder_room_bytes[i]);
    place->n_lanes = wish->n_folders;
}

static bool may_use(const struct hm_layout *layout, const struct hm_layout_wish *wish, int i)
{
    return hm_set_has(wish->allowed, (unsigned)layout->node[i].id);
}

static uint64_t room_of(const struct hm_layout *layout, const struct hm_layout_wish *wish, int i)
{
    uint64_t room = wish->node_room_bytes[i], reserve = layout->node[i].reserve_bytes;
    return room > reserve ? room - reserve : 0;
}

/*
 * Make lanes, where folders have made none: one for each socket with a node that may be used and has rank 0, in the
 * order of the nodes; for HM_ALLOC_INTERLEAVE one for each node that may be used. lanes[i] becomes the lane of node i,
 * or HM_PLACE_ANY_LANE. Nodes whose socket is unknown count as one socket's when lanes are made, and are in every lane
 * (except for HM_ALLOC_INTERLEAVE).
 */
static void make_lanes(const struct hm_layout *layout, const struct hm_layout_wish *wish, struct ranks ranks,
                       struct hm_place *place, int lanes[HM_ALLOC_NODES])
{
    bool is_given = place->n_lanes > 0; /* folders have made the lanes, one for each folder */
    int socket_of_lane[HM_PLACE_LANES];
    for (int i = 0; i < place->n_lanes; i++)
        socket_of_lane[i] = wish->folder_socket[i];
    for (int i = 0; i < layout->n_nodes && !is_given; i++) {
        const struct hm_layout_node *node = &layout->node[i];
        bool is_new = may_use(layout, wish, i) && (node->is_fast ? ranks.fast : ranks.slow) == 0;
        for (int lane = 0; lane < place->n_lanes && wish->policy != HM_ALLOC_INTERLEAVE; lane++)
            is_new = is_new && socket_of_lane[lane] != node->socket;
        if (is_new)
            socket_of_lane[place->n_lanes++] = wish->policy == HM_ALLOC_INTERLEAVE ? i : node->socket;
    }
    for (int i = 0; i < layout->n_nodes; i++) {
        int key = wish->policy == HM_ALLOC_INTERLEAVE ? i : layout->node[i].socket;
        lanes[i] = HM_PLACE_ANY_LANE;
        for (int lane = 0; lane < place->n_lanes && key >= 0; lane++)
            if (socket_of_lane[lane] == key)
                lanes[i] = lane;
    }
}

/* Say which tier has no usable node; the other tier is then used in its place. */
static void say_what_is_missing(const struct hm_layout *layout, const struct hm_layout_wish *wish, char *reason)
{
    bool has[2] = {false, false};
    for (int i = 0; i < layout->n_nodes; i++)
        has[layout->node[i].is_fast] = has[layout->node[i].is_fast] || may_use(layout, wish, i);
    for (int is_fast = 0; is_fast < 2; is_fast++)
        if (!has[is_fast])
            hm_reason_add(reason, "no node of the %s tier can be used here", is_fast ? "fast" : "slow");
}

/* Where some lanes have no spot of a rank, all lanes share the spots of that rank. */
static void share_between_lanes(struct hm_place *place)
{
    for (int rank = 0; rank < HM_PLACE_RANKS; rank++) {
        bool is_in_lane[HM_PLACE_LANES] = {false};
        bool is_in_all = true;
        for (int i = 0; i < place->n_spots; i++)
            if (place->spot[i].rank == rank && place->spot[i].lane != HM_PLACE_ANY_LANE)
                is_in_lane[place->spot[i].lane] = true;
        for (int lane = 0; lane < place->n_lanes; lane++)
            is_in_all = is_in_all && is_in_lane[lane];
        for (int i = 0; i < place->n_spots && !is_in_all; i++)
            if (place->spot[i].rank == rank)
                place->spot[i].lane = HM_PLACE_ANY_LANE;
    }
}

/* Add the nodes that are in every lane (`in_any`), or those that have a lane of their own. Returns how many. */
static int add_nodes(const struct hm_layout *layout, const struct hm_layout_wish *wish, struct ranks ranks,
                     const int lanes[HM_ALLOC_NODES], bool in_any, struct hm_place *place)
{
    int n = 0;
    for (int i = 0; i < layout->n_nodes; i++) {
        const struct hm_layout_node *node = &layout->node[i];
        if (!may_use(layout, wish, i) || (lanes[i] == HM_PLACE_ANY_LANE) != in_any)
            continue;
        n++;
        add_spot(place, node->id, -1, lanes[i], node->is_fast ? ranks.fast : ranks.slow, room_of(layout, wish, i));
    }
    return n;
}

int hm_layout_place(const struct hm_layout *layout, const struct hm_layout_wish *wish, struct hm_place *place,
                    char *reason)
{
    struct ranks ranks = ranks_of(wish);
    int lanes[HM_ALLOC_NODES];
    place->n_spots = place->n_lanes = 0;
    place->first_slices = (struct hm_place_slices){0};
    place->first_share = 1;
    if (wish->policy == HM_ALLOC_SPILL)
        place->first_share = wish->hint.fast_share > 0 ? wish->hint.fast_share : layout->fast_share;
    if (layout->note[0])
        hm_reason_add(reason, "%s", layout->note);
    else
        say_what_is_missing(layout, wish, reason);
    if (ranks.file >= 0)
        add_files(wish, place, ranks.file);
    make_lanes(layout, wish, ranks, place, lanes);
    if (place->n_lanes == 0) { /* no spot has rank 0: put all spots into one lane */
        place->n_lanes = 1;
        place->first_share = 1;
    }
    /* Nodes without a lane of their own come last: a lane's own nodes are nearer. */
    int n = add_nodes(layout, wish, ranks, lanes, false, place) + add_nodes(layout, wish, ranks, lanes, true, place);
    share_between_lanes(place);
    return n > 0 ? 0 : -1;
}
