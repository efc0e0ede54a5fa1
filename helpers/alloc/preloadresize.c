/* SPDX-License-Identifier: Apache-2.0 */
#include "preloadresize.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pagesize.h"
#include "known.h"
#include "resize.h"

/* Blocks of an allocation, each on one node (hybridmem.h). There are few, as each block is a mapping (mappings.h).
 * There are up to twice as many where block_of rounds the size of a block down to huge pages. */
#define BLOCKS 8
#define PARTS 32 /* blocks where a share of an allocation goes to a tier: each socket has some of them */
#define BLOCKS_OF_SLICE 4
#define PIECE ((size_t)4 << 20) /* bytes that are in two places while they are copied; more need fewer system calls */

/* The size of a block, in bytes: whole huge pages where possible, so that each node gets the same share. */
static size_t block_of(size_t bytes, size_t blocks)
{
    size_t block = bytes / blocks;
    return block < HM_KNOWN_HUGE_PAGE ? block : block / HM_KNOWN_HUGE_PAGE * HM_KNOWN_HUGE_PAGE;
}

/* Slices that are no huge pages are of more blocks, so that most of these are in one slice. */
static size_t blocks_of(size_t bytes, const struct hm_preload_choice *choice)
{
    if (choice->policy != HM_ALLOC_SPILL)
        return BLOCKS;
    return choice->fast_slices != 0 && bytes / HM_PLACE_SLICES < HM_KNOWN_HUGE_PAGE ? PARTS * BLOCKS_OF_SLICE : PARTS;
}

struct hm_alloc_hint hm_preload_hint(size_t bytes, const struct hm_preload_choice *choice)
{
    return (struct hm_alloc_hint){.block_bytes = block_of(bytes, blocks_of(bytes, choice)),
                                  .fast_share = choice->fast_share};
}

void hm_preload_copy_out(char *to, char *from, size_t bytes)
{
    size_t page = hm_page_size(), given = (page - (uintptr_t)from % page) % page; /* up to where pages are given back */
    int number = errno;
    for (size_t at = 0, end; at < bytes; at = end) {
        end = bytes - at > PIECE ? at + PIECE : bytes;
        memcpy(to + at, from + at, end - at);
        if (bytes > PIECE && end >= given + page) {
            size_t whole = (end - given) / page * page;
            madvise(from + given, whole, MADV_DONTNEED);
            given += whole;
        }
    }
    errno = number;
}

/* Where so many bytes are to be: all of them (`is_anew`), or those that an allocation grows by. Where there is no room
 * for all of a smaller part, it is slow: else an allocation that grows by small steps would be of ever more blocks. */
static struct hm_preload_choice choose(size_t bytes, const struct hm_allocated *was, bool is_anew,
                                       struct hm_preload_where where)
{
    static const struct hm_preload_choice slow = {.policy = HM_ALLOC_SLOW};
    struct hm_preload_choice choice;
    if (bytes == 0 || !hm_preload_choose(bytes, where, &choice))
        return slow;
    if (is_anew || choice.policy != HM_ALLOC_SPILL || bytes > was->bytes / 2)
        return choice;
    hm_preload_count(choice.is_marked, choice.fast_bytes, 0);
    return slow;
}

void *hm_preload_resize(void *memory, const struct hm_allocated *was, size_t bytes, enum hm_preload_how how,
                        struct hm_preload_where where)
{
    bool is_anew = how == HM_PRELOAD_ANEW;
    size_t wanted = is_anew ? bytes : bytes > was->bytes ? bytes - was->bytes : 0, kept = is_anew ? 0 : was->fast_bytes;
    int number = errno;
    if (bytes > HM_ALLOCATE_MOST)
        return NULL;
    if (is_anew)
        hm_preload_count(was->is_marked, was->fast_bytes, 0);
    struct hm_preload_choice choice = choose(wanted, was, is_anew, where);
    const struct hm_place_slices slices = {choice.fast_slices, choice.fast_bytes};
    size_t of_blocks = choice.policy == HM_ALLOC_SPILL ? wanted : bytes;
    const struct hm_resize wish = {
        .policy = choice.policy, .hint = hm_preload_hint(of_blocks, &choice), .slices = is_anew ? &slices : NULL};
    void *resized = hm_resize(memory, bytes, &wish);
    hm_preload_count(was->is_marked, kept, hm_allocated(resized ? resized : memory).fast_bytes);
    hm_preload_count(choice.is_marked, choice.fast_bytes, 0);
    errno = number;
    return resized;
}
