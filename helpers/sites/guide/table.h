/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a guided program is told: the nodes of both tiers, and the sites whose memory goes to the fast one. It is an
 * environment variable, so that programs that the program executes have it, too, and nothing has to be removed. The
 * preload library reads it without malloc. Pure.
 *
 *     fast=0@0,1@1 slow=2@0,3@1 sites=00000000000000a1,00000000000000b2
 *
 * Before the sites, where small allocations are among them, the build-id of the program whose size classes these are,
 * and the size from which on allocations belong to sites (default: HM_ALLOC_LEAST); and the bytes that a process may
 * have of the fast tier in this way (default: no limit):
 *
 *     fast=0 slow=1 program=c0ffee00 least=4096 limit=1048576 sites=00000000000000a1,6c1e186443822970
 *
 * After the limit there may be one for a site, of what it may have of these bytes: limited=00000000000000a1:65536
 *
 * Then there may be the sites of which some slices (profile/slices.h) are fast: bytes of a slice, or 0 where each
 * allocation has its own, and the set: parts=00000000000000a1:1048576:0000000c,00000000000000b2:0:ff000000
 */
#ifndef HM_SITES_GUIDE_TABLE_H
#define HM_SITES_GUIDE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alloc/layout.h"
#include "sites/profile/buildid.h"

#define HM_GUIDE_TABLE "HYBRIDMEM_GUIDE" /* the variable */
#define HM_GUIDE_NODES 2048              /* bytes of the nodes' text, with its end */
#define HM_GUIDE_SITES 4096              /* Linux allows a variable 128 KiB */
#define HM_GUIDE_PARTS 64                /* sites that are divided */
#define HM_GUIDE_TEXT (HM_GUIDE_NODES + 128 + HM_BUILDID_TEXT + HM_GUIDE_SITES * 17 + HM_GUIDE_PARTS * 48)

/* A site of which some slices are fast. */
struct hm_guide_part {
    uint64_t id;
    uint64_t step_bytes; /* of a slice in the order of the site's allocations; 0: each has its own slices */
    uint32_t slices;     /* a bit for each that is fast */
};

struct hm_guide_table {
    char nodes[HM_GUIDE_NODES];    /* as alloc/preload.h has them */
    char program[HM_BUILDID_TEXT]; /* in which size classes are meant; "": none is */
    uint64_t least_bytes;          /* smaller allocations are in size classes */
    uint64_t limit_bytes;          /* 0: none */
    uint64_t limited;              /* one of the sites, which may have limited_bytes of them */
    uint64_t limited_bytes;        /* 0: no site has a limit of its own */
    size_t n_parts;
    struct hm_guide_part part[HM_GUIDE_PARTS]; /* of the sites, in no order, each once */
    size_t n_ids;
    uint64_t id[HM_GUIDE_SITES]; /* ascending, each once */
};

/* Parses the variable. Returns 0, or -1 where it is not as hm_guide_format writes it; nodes are not looked at. */
int hm_guide_parse(const char *text, struct hm_guide_table *table);
void hm_guide_format(const struct hm_guide_table *table, char out[HM_GUIDE_TEXT]);

/* Does the site's, or the size class's, memory go to the fast tier? */
bool hm_guide_has(const struct hm_guide_table *table, uint64_t id);

/* The number of a site's part in the table; -1: it is whole. */
int hm_guide_find_part(const struct hm_guide_table *table, uint64_t id);

/* Writes the nodes of a layout as the table has them. Returns 0, or -1 (ENAMETOOLONG). */
int hm_guide_write_nodes(const struct hm_layout *layout, char out[HM_GUIDE_NODES]);

#endif
