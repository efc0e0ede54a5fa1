/* SPDX-License-Identifier: Apache-2.0 */
#include "place.h"

#include <string.h>

#include "base/amount.h"

#define BLOCKS 256    /* blocks of an allocation, where the caller does not ask for a block size */
#define ROUNDING 1e-9 /* error that adding up a share over all blocks may have */
#define NOWHERE (-1)

/* State while the blocks are placed one after the other. */
struct turn {
    double owed[HM_PLACE_LANES];              /* by lane: the blocks that rank 0 should have had, but has not yet */
    int next[HM_PLACE_LANES][HM_PLACE_RANKS]; /* by lane and rank: the spot after the last one used */
    uint64_t in_slices;                       /* bytes of blocks that rank 0 gets by slice */
};

static bool is_in(const struct hm_place_spot *spot, int lane, int rank)
{
    return spot->rank == rank && (spot->lane == lane || spot->lane == HM_PLACE_ANY_LANE);
}

/* Find the next spot of this lane and rank that has room. Returns its index, or NOWHERE. */
static int find_room(const struct hm_place *place, struct turn *turn, int lane, int rank, uint64_t bytes)
{
    for (int i = 0; i < place->n_spots; i++) {
        int at = (turn->next[lane][rank] + i) % place->n_spots;
        if (is_in(&place->spot[at], lane, rank) && place->spot[at].room_bytes >= bytes) {
            turn->next[lane][rank] = at + 1;
            return at;
        }
    }
    return NOWHERE;
}

static int find_in_lane(const struct hm_place *place, struct turn *turn, int lane, int wanted, uint64_t bytes)
{
    int found = find_room(place, turn, lane, wanted, bytes);
    for (int rank = 0; found == NOWHERE && rank < HM_PLACE_RANKS; rank++)
        if (rank != wanted)
            found = find_room(place, turn, lane, rank, bytes);
    return found;
}

static int find_in_other_lanes(const struct hm_place *place, struct turn *turn, int lane, uint64_t bytes)
{
    for (int rank = 0; rank < HM_PLACE_RANKS; rank++) {
        for (int i = 1; i < place->n_lanes; i++) {
            int found = find_room(place, turn, (lane + i) % place->n_lanes, rank, bytes);
            if (found != NOWHERE)
                return found;
        }
    }
    return NOWHERE;
}

/* No spot has room: choose a node that takes the block all the same; the kernel then has to find room. A node of the
 * lane with the wanted rank comes first, then the lane's best rank, then any node. A file cannot take more than it has
 * room for. */
static int find_memory(const struct hm_place *place, int lane, int wanted)
{
    int best = NOWHERE, best_score = -1;
    for (int i = 0; i < place->n_spots; i++) {
        const struct hm_place_spot *spot = &place->spot[i];
        int score = is_in(spot, lane, wanted)       ? HM_PLACE_RANKS + 1
                    : is_in(spot, lane, spot->rank) ? HM_PLACE_RANKS - spot->rank
                                                    : 0;
        if (spot->node >= 0 && score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static bool has_spot(const struct hm_place *place, int lane, int rank)
{
    for (int i = 0; i < place->n_spots; i++)
        if (is_in(&place->spot[i], lane, rank))
            return true;
    return false;
}

static int want_rank_by_slice(const struct hm_place *place, struct turn *turn, uint64_t offset, uint64_t bytes)
{
    double middle = (double)(offset + bytes / 2) / (double)place->bytes;
    bool is_in_set = place->first_slices.set >> (unsigned)(middle * HM_PLACE_SLICES) & 1;
    if (!is_in_set || bytes > place->first_slices.most_bytes - turn->in_slices)
        return 1;
    turn->in_slices += bytes;
    return 0;
}

/* Choose rank 0 or 1 for a block. Where rank 0 gets a share, it gets it evenly over the lane's blocks. */
static int want_rank(const struct hm_place *place, struct turn *turn, int lane, uint64_t offset, uint64_t bytes)
{
    if (place->first_slices.set != 0)
        return want_rank_by_slice(place, turn, offset, bytes);
    turn->owed[lane] += place->first_share;
    if (turn->owed[lane] < 1 - ROUNDING)
        return 1;
    turn->owed[lane] -= 1;
    return 0;
}

static void append(struct hm_alloc_run *run, size_t *n_runs, const struct hm_place_spot *spot, uint64_t offset,
                   uint64_t bytes)
{
    struct hm_alloc_run *last = *n_runs > 0 ? &run[*n_runs - 1] : NULL;
    if (last && last->node == spot->node && last->folder == spot->folder)
        last->bytes += bytes;
    else
        run[(*n_runs)++] = (struct hm_alloc_run){offset, bytes, spot->node, spot->folder};
}

void hm_place_blocks(struct hm_place *place, struct hm_alloc_run *run, struct hm_placed *placed)
{
    struct turn turn = {0};
    int lane = place->first_lane % place->n_lanes;
    memset(placed, 0, sizeof(*placed));
    for (uint64_t offset = 0, bytes; offset < place->bytes; offset += bytes) {
        uint64_t left = place->bytes - offset;
        bytes = left < place->block_bytes ? left : place->block_bytes;
        int wanted = want_rank(place, &turn, lane, offset, bytes);
        int found = find_in_lane(place, &turn, lane, wanted, bytes);
        if (found == NOWHERE)
            found = find_in_other_lanes(place, &turn, lane, bytes);
        if (found == NOWHERE) {
            placed->overflow_bytes += bytes;
            found = find_memory(place, lane, wanted);
        }
        struct hm_place_spot *spot = &place->spot[found];
        if (!is_in(spot, lane, wanted) && has_spot(place, lane, wanted))
            placed->moved_bytes += bytes;
        spot->room_bytes -= spot->room_bytes < bytes ? spot->room_bytes : bytes;
        append(run, &placed->n_runs, spot, offset, bytes);
        lane = (lane + 1) % place->n_lanes;
    }
}

uint64_t hm_place_block_bytes(uint64_t bytes, uint64_t wanted, uint64_t page, uint64_t huge_page)
{
    uint64_t least = bytes / HM_ALLOC_MOST_BLOCKS + (bytes % HM_ALLOC_MOST_BLOCKS != 0);
    uint64_t block = wanted;
    if (block > bytes) /* also keeps hm_round_up below from overflowing */
        block = bytes;
    if (wanted == 0) {
        block = bytes / BLOCKS;
        least = least > huge_page ? least : huge_page;
    }
    if (block < least)
        block = least;
    return hm_round_up(block, block >= huge_page ? huge_page : page);
}
