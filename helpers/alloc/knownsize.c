/* SPDX-License-Identifier: Apache-2.0 */
/* The part of known.h that changes sizes. A page is never in two places: so no more memory is needed than the larger
 * one of both sizes, and no more addresses where these are limited (RLIMIT_AS). */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pagesize.h"
#include "kernel.h"
#include "known.h"

static char *end_of(const struct hm_known *known)
{
    return known->data + known->data_bytes;
}

/* Bytes of the guard behind the data. */
static size_t guard_of(const struct hm_known *known)
{
    return known->is_apart ? 0 : (size_t)(known->base + known->base_bytes - end_of(known));
}

/* Map a range that nothing else has. */
static bool map_free(char *start, size_t bytes)
{
    void *mapped = mmap(start, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (mapped != start && mapped != MAP_FAILED)
        munmap(mapped, bytes); /* Linux before 4.17 takes the address for a wish */
    return mapped == start;
}

bool hm_known_grow(struct hm_known *known, size_t data_bytes)
{
    char *last = known->data + (known->n_runs > 0 ? known->run[known->n_runs - 1].offset : 0), *end = end_of(known);
    size_t more = data_bytes - known->data_bytes, guard = guard_of(known);
    if (guard > 0)
        munmap(end, guard);
    if (hm_kernel_remap(last, (size_t)(end - last), (size_t)(end - last) + more + guard, 0, NULL) == MAP_FAILED) {
        if (guard > 0 && !map_free(end, guard)) /* another thread has it, and it is not to be unmapped with the data */
            known->base_bytes -= guard;
        return false;
    }
    if (guard > 0)
        mprotect(end + more, guard, PROT_NONE);
    known->data_bytes = data_bytes;
    known->base_bytes += known->is_apart ? 0 : more;
    return true;
}

/* The descriptor of the moved data, from that of its old place, of which nothing is left. */
static void take_over(struct hm_known *moved, const struct hm_known *known)
{
    moved->bytes = known->bytes;
    moved->used_bytes = known->used_bytes;
    moved->n_mappings = known->n_mappings;
    moved->block_bytes = known->block_bytes;
    moved->policy = known->policy;
    moved->is_marked = known->is_marked;
    memcpy(moved->reason, known->reason, sizeof(moved->reason));
    moved->n_runs = known->n_runs;
    memcpy(moved->run, known->run, known->n_runs * sizeof(known->run[0]));
}

/* Unmap the parts around the data, which others may have by now. */
static void unmap_around(struct hm_known *known, bool is_head_kept)
{
    size_t guard = guard_of(known);
    char *end = end_of(known);
    if (guard > 0)
        munmap(end, guard);
    if (!known->is_apart)
        known->base_bytes = (size_t)(known->data - known->base);
    if (!is_head_kept)
        munmap(known->base, known->base_bytes);
}

/* Is nothing changed over which the kernel did not move? It may have unmapped these addresses before it failed, and
 * another thread may have them then. It would not make the front of a mapping larger, and does not look at more than
 * one (EFAULT). */
static bool is_one_mapping(const struct hm_known *moved)
{
    size_t page = hm_page_size(), bytes = page + moved->data_bytes;
    return hm_kernel_remap(moved->data - page, bytes, bytes + page, 0, NULL) == MAP_FAILED && errno != EFAULT;
}

/* Move it over other addresses, aligned to huge pages as these were. */
static struct hm_known *move_aligned(struct hm_known *known, size_t data_bytes)
{
    struct hm_known *moved = hm_known_map(data_bytes, 1, known->n_runs, true);
    if (!moved)
        return NULL;
    if (hm_kernel_remap(known->data, known->data_bytes, moved->data_bytes, MREMAP_MAYMOVE | MREMAP_FIXED,
                        moved->data) != MAP_FAILED) {
        take_over(moved, known);
        unmap_around(known, false);
        return moved;
    }
    if (is_one_mapping(moved) || map_free(moved->data, moved->data_bytes))
        hm_known_unmap(moved);
    else
        unmap_around(moved, false);
    return NULL;
}

/* Move it wherever the kernel finds a place, which takes no addresses before the old ones are free. */
static struct hm_known *move_anywhere(struct hm_known *known, size_t data_bytes)
{
    char *data = hm_kernel_remap(known->data, known->data_bytes, data_bytes, MREMAP_MAYMOVE, NULL);
    if (data == MAP_FAILED)
        return NULL;
    unmap_around(known, true);
    known->is_apart = true;
    known->data = data;
    known->data_bytes = data_bytes;
    return known;
}

struct hm_known *hm_known_move(struct hm_known *known, size_t data_bytes)
{
    struct hm_known *moved = hm_kernel_limits_addresses() ? NULL : move_aligned(known, data_bytes);
    return moved ? moved : move_anywhere(known, data_bytes);
}

bool hm_known_shrink(struct hm_known *known, size_t data_bytes)
{
    size_t page = hm_page_size(), guard = guard_of(known), less = known->data_bytes - data_bytes;
    char *end = end_of(known) - less;
    if (guard > 0 && mmap(end, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return false;
    char *from = guard > 0 ? end + page : end;
    size_t rest = guard > 0 ? less + guard - page : less;
    if (rest > 0 && munmap(from, rest) == 0 && !known->is_apart)
        known->base_bytes -= rest;
    known->data_bytes = data_bytes;
    return true;
}
