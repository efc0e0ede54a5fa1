/* SPDX-License-Identifier: Apache-2.0 */
#include "unmovable.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/marks.h"

#define NEIGHBOURS 8 /* places of the table in which a block may be */

int hm_unmovable_init(struct hm_unmovable *unmovable)
{
    unmovable->n_blocks = 0;
    unmovable->block = calloc(HM_UNMOVABLE_BLOCKS, sizeof(*unmovable->block));
    return unmovable->block ? 0 : -1;
}

void hm_unmovable_free(struct hm_unmovable *unmovable)
{
    free(unmovable->block);
    unmovable->block = NULL;
}

/* Finds the block with this key, or the place for it: a free one, or one that it replaces. */
static struct hm_unmovable_block *find(const struct hm_unmovable *unmovable, uint64_t key)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / golden ratio (Knuth, vol. 3, 6.4) */
    uint64_t at = hash >> 40;
    struct hm_unmovable_block *place = NULL;
    for (uint64_t i = 0; i < NEIGHBOURS; i++) {
        struct hm_unmovable_block *block = &unmovable->block[(at + i) % HM_UNMOVABLE_BLOCKS];
        if (block->key == key)
            return block;
        if (block->key == 0 && !place)
            place = block;
    }
    return place ? place : &unmovable->block[(at + (hash & (NEIGHBOURS - 1))) % HM_UNMOVABLE_BLOCKS];
}

bool hm_unmovable_has(const struct hm_unmovable *unmovable, uint64_t page)
{
    if (unmovable->n_blocks == 0)
        return false;
    const struct hm_unmovable_block *block = find(unmovable, page / HM_UNMOVABLE_BLOCK);
    return block->key == page / HM_UNMOVABLE_BLOCK && (block->sure >> (page % HM_UNMOVABLE_BLOCK) & 1);
}

void hm_unmovable_add(struct hm_unmovable *unmovable, uint64_t page, bool is_sure)
{
    struct hm_unmovable_block *block = find(unmovable, page / HM_UNMOVABLE_BLOCK);
    uint64_t bit = UINT64_C(1) << (page % HM_UNMOVABLE_BLOCK);
    if (block->key != page / HM_UNMOVABLE_BLOCK) {
        unmovable->n_blocks += block->key == 0;
        *block = (struct hm_unmovable_block){.key = page / HM_UNMOVABLE_BLOCK};
    }
    block->sure |= is_sure || (block->once & bit) ? bit : 0;
    block->once |= is_sure ? 0 : bit;
}

/* Forgets the other pages of a block. */
static void keep_bits(struct hm_unmovable *unmovable, struct hm_unmovable_block *block, uint64_t keep)
{
    block->once &= keep;
    block->sure &= keep;
    if ((block->once | block->sure) == 0) {
        block->key = 0;
        unmovable->n_blocks--;
    }
}

void hm_unmovable_forget_one(struct hm_unmovable *unmovable, uint64_t page)
{
    if (unmovable->n_blocks == 0)
        return;
    struct hm_unmovable_block *block = find(unmovable, page / HM_UNMOVABLE_BLOCK);
    if (block->key == page / HM_UNMOVABLE_BLOCK)
        keep_bits(unmovable, block, ~(UINT64_C(1) << (page % HM_UNMOVABLE_BLOCK)));
}

void hm_unmovable_look_again(struct hm_unmovable *unmovable, int pagemap, uint64_t page)
{
    uint64_t entry[HM_UNMOVABLE_BLOCK], number = HM_PAGE_NUMBER(page) / HM_UNMOVABLE_BLOCK * HM_UNMOVABLE_BLOCK;
    struct hm_unmovable_block *block = find(unmovable, page / HM_UNMOVABLE_BLOCK);
    uint64_t alone = 0, shared = block->key == page / HM_UNMOVABLE_BLOCK ? block->sure & ~block->once : 0;
    if (shared == 0)
        return;
    ssize_t length = pread(pagemap, entry, sizeof(entry), (off_t)(number * sizeof(entry[0])));
    for (size_t i = 0; length > 0 && i < (size_t)length / sizeof(entry[0]); i++)
        alone |= entry[i] & HM_MARK_ALONE ? UINT64_C(1) << i : 0;
    block->sure &= ~(shared & alone);
    block->once |= shared & alone;
}

/* Bits of the block's pages from `first` to `end` - 1. */
static uint64_t bits_within(uint64_t key, uint64_t first, uint64_t end)
{
    uint64_t bits = 0;
    for (uint64_t i = 0; i < HM_UNMOVABLE_BLOCK; i++)
        if (key * HM_UNMOVABLE_BLOCK + i >= first && key * HM_UNMOVABLE_BLOCK + i < end)
            bits |= UINT64_C(1) << i;
    return bits;
}

void hm_unmovable_forget(struct hm_unmovable *unmovable, const struct hm_gone *gone, size_t n)
{
    for (uint64_t i = 0; unmovable->n_blocks > 0 && i < HM_UNMOVABLE_BLOCKS; i++) {
        struct hm_unmovable_block *block = &unmovable->block[i];
        uint64_t first = block->key * HM_UNMOVABLE_BLOCK, bits = 0;
        if (block->key == 0)
            continue;
        for (size_t g = hm_gone_find(gone, n, first); g < n && gone[g].first < first + HM_UNMOVABLE_BLOCK; g++)
            bits |= bits_within(block->key, gone[g].first, HM_PAGE_END(gone[g].first, gone[g].n_pages));
        if (bits != 0)
            keep_bits(unmovable, block, ~bits);
    }
}
