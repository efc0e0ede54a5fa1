/* SPDX-License-Identifier: Apache-2.0 */
#include "claims.h"

#include <stdlib.h>
#include <string.h>

/* Is the claim wholly before this page of the file? */
static bool is_before(const struct hm_claim *claim, const struct hm_mapping *mapping, uint64_t offset)
{
    if (claim->device != mapping->device)
        return claim->device < mapping->device;
    if (claim->inode != mapping->inode)
        return claim->inode < mapping->inode;
    return claim->offset + claim->n_pages <= offset;
}

/* The index of the first claim that has this page of the file or comes after it. */
static size_t find(const struct hm_claims *claims, const struct hm_mapping *mapping, uint64_t offset)
{
    size_t low = 0, high = claims->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(&claims->claim[middle], mapping, offset))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Makes room for one more. */
static bool has_room(struct hm_claims *claims)
{
    if (claims->n < claims->room)
        return true;
    size_t room = claims->room ? 2 * claims->room : 64;
    struct hm_claim *grown = room <= HM_CLAIMS ? realloc(claims->claim, room * sizeof(*grown)) : NULL;
    if (!grown)
        return false;
    claims->claim = grown;
    claims->room = room;
    return true;
}

uint64_t hm_claims_take(struct hm_claims *claims, const struct hm_mapping *mapping, uint64_t done, uint64_t own,
                        uint64_t *home)
{
    uint64_t offset = mapping->offset + done, left = mapping->range.n_pages - done;
    size_t i = find(claims, mapping, offset);
    const struct hm_claim *next = i < claims->n ? &claims->claim[i] : NULL;
    if (next && (next->device != mapping->device || next->inode != mapping->inode))
        next = NULL;
    if (next && next->offset <= offset) {
        uint64_t rest = next->offset + next->n_pages - offset;
        *home = next->home + (offset - next->offset);
        return rest < left ? rest : left;
    }
    uint64_t n = next && next->offset - offset < left ? next->offset - offset : left;
    if (!has_room(claims))
        return 0;
    memmove(claims->claim + i + 1, claims->claim + i, (claims->n - i) * sizeof(*claims->claim));
    claims->claim[i] = (struct hm_claim){mapping->device, mapping->inode, offset, n, own};
    claims->n++;
    *home = own;
    return n;
}

void hm_claims_clear(struct hm_claims *claims)
{
    claims->n = 0;
}

void hm_claims_free(struct hm_claims *claims)
{
    free(claims->claim);
    *claims = (struct hm_claims){.n = 0};
}

/* Does the piece have some of the pages? Then cuts `place` to those. */
static bool cut(const struct hm_mapped *mapped, uint64_t home, uint64_t n_pages, struct hm_alias *place)
{
    struct hm_range at_home = {mapped->home, mapped->range.n_pages};
    struct hm_range common = hm_range_cut(at_home, home, home + n_pages);
    if (common.n_pages == 0)
        return false;
    place->range = (struct hm_range){mapped->range.first + (common.first - mapped->home), common.n_pages};
    place->home = common.first;
    place->mapped = mapped;
    return true;
}

bool hm_claims_next(const struct hm_maps *maps, uint32_t n_spaces, uint64_t home, uint64_t n_pages,
                    struct hm_alias *place)
{
    for (; place->space < n_spaces; place->space++, place->next = 0) {
        const struct hm_maps *at = &maps[place->space];
        if (place->next == 0)
            place->next = hm_maps_find_alias(at, home);
        while (place->next < at->n_aliases && at->alias[place->next].home < home + n_pages)
            if (cut(&at->mapped[at->alias[place->next++].at], home, n_pages, place))
                return true;
    }
    return false;
}
