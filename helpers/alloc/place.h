/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which block of an allocation goes where. Pure. A spot is a place with room: a NUMA node or a file on
 * persistent memory (fsdax). Spots are grouped into lanes, mostly one for each socket, and have a rank in their lane;
 * rank 0 is wanted first. Blocks go to the lanes in turn.
 */
#ifndef HM_ALLOC_PLACE_H
#define HM_ALLOC_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hybridmem.h"

#define HM_PLACE_SPOTS (HM_ALLOC_NODES + 32) /* all nodes, and all folders (HM_FOLDERS) */
#define HM_PLACE_LANES HM_ALLOC_NODES
#define HM_PLACE_RANKS 3
#define HM_PLACE_ANY_LANE (-1)

#define HM_PLACE_SLICES 32 /* equal parts of an allocation */

struct hm_place_spot {
    int node;            /* -1: a file */
    int folder;          /* index of the file's folder; -1: memory */
    int lane;            /* from 0 on; HM_PLACE_ANY_LANE: in every lane */
    int rank;            /* 0 to HM_PLACE_RANKS - 1 */
    uint64_t room_bytes; /* free bytes; hm_place_blocks takes from them */
};

/* Which blocks rank 0 gets. */
struct hm_place_slices {
    uint32_t set;        /* those whose middle is in these slices: a bit for each; 0: it gets a share */
    uint64_t most_bytes; /* as far as they are no more: blocks and slices do not end at the same bytes */
};

struct hm_place {
    uint64_t bytes;       /* above 0 */
    uint64_t block_bytes; /* above 0; at most HM_ALLOC_MOST_BLOCKS of them; the last may be shorter */
    int n_lanes;          /* above 0 */
    int first_lane;       /* lane of the first block */
    struct hm_place_slices first_slices;
    double first_share; /* rank 0's share of a lane's blocks while it has room, 0 to 1; rank 1 gets the others */
    int n_spots;        /* above 0; at least one is memory */
    struct hm_place_spot spot[HM_PLACE_SPOTS];
};

struct hm_placed {
    size_t n_runs;
    uint64_t moved_bytes;    /* bytes of blocks that are not in the wanted rank of their lane, because it is full */
    uint64_t overflow_bytes; /* bytes of blocks for which no spot has room; the kernel has to find some */
};

/* Place all blocks. A block that finds no room in the wanted rank of its lane goes to the best other rank of the lane
 * with room, then to the best rank of another lane with room. `run` must have room for one entry for each block. */
void hm_place_blocks(struct hm_place *place, struct hm_alloc_run *run, struct hm_placed *placed);

/*
 * Size of a block in bytes: `wanted`, or the default where that is 0. It is enlarged so that there are at most
 * HM_ALLOC_MOST_BLOCKS blocks, and then rounded up to pages, or to huge pages where it is at least as large as one. The
 * default is a 256th of `bytes`: each block may become a mapping, of which a process has 65530 (vm.max_map_count), and
 * a 256th still spreads memory evenly to 0.4 %. The default is at least a huge page (2 MiB), because a huge page cannot
 * be on two nodes.
 */
uint64_t hm_place_block_bytes(uint64_t bytes, uint64_t wanted, uint64_t page, uint64_t huge_page);

#endif
