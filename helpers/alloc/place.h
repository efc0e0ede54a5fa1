/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which block of an allocation goes where: pure. A spot is a place with room: a NUMA node, or an fsdax file. Spots are
 * in lanes (a socket, mostly) and have a rank there: 0 is wanted first. Blocks go over the lanes in turn.
 */
#ifndef HM_ALLOC_PLACE_H
#define HM_ALLOC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hybridmem.h"

#define HM_PLACE_SPOTS (HM_ALLOC_NODES + 32)
#define HM_PLACE_LANES HM_ALLOC_NODES
#define HM_PLACE_RANKS 3
#define HM_PLACE_ANY_LANE (-1)

struct hm_place_spot {
    int node;            /* -1: a file */
    int folder;          /* of the file, -1: memory */
    int lane;            /* 0.., or HM_PLACE_ANY_LANE: in every lane */
    int rank;            /* 0 to HM_PLACE_RANKS - 1 */
    uint64_t room_bytes; /* what it can take; hm_place takes from it */
};

struct hm_place {
    uint64_t bytes;       /* above 0 */
    uint64_t block_bytes; /* above 0; at most HM_ALLOC_MOST_BLOCKS of them; the last may be shorter */
    int n_lanes;          /* above 0 */
    int first_lane;       /* of the first block */
    double
        first_share; /* share of a lane's blocks that rank 0 gets while it has room; the others are for rank 1. 0..1 */
    int n_spots;     /* above 0, one of memory at least */
    struct hm_place_spot spot[HM_PLACE_SPOTS];
};

struct hm_placed {
    size_t n_runs;
    uint64_t moved_bytes;    /* of blocks that are not where they were wanted: it is there, but has no room */
    uint64_t overflow_bytes; /* of blocks that have room nowhere: the kernel is left to find some */
};

/*
 * Place all blocks. A block without room in the wanted rank of its lane goes to the lane's other ranks, best first,
 * then to the best rank of the next lane that has room. `run` has room for as many as there are blocks.
 */
void hm_place_blocks(struct hm_place *place, struct hm_alloc_run *run, struct hm_placed *placed);

/*
 * Bytes of a block: `wanted` (0: a 256th of `bytes`), made a multiple of the page, of the huge page where it is as
 * large as that, and so large that there are no more than HM_ALLOC_MOST_BLOCKS. Each block may become a mapping of its
 * own, and Linux gives a process 65530 (vm.max_map_count): hence a 256th, which is even to 0.4 %; and no huge page can
 * lie on two nodes: hence 2 MiB at least.
 */
uint64_t hm_place_block_bytes(uint64_t bytes, uint64_t wanted, uint64_t page, uint64_t huge_page);

#endif
