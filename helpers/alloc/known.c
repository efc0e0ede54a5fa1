/* SPDX-License-Identifier: Apache-2.0 */
#include "known.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/amount.h"
#include "base/pagesize.h"
#include "kernel.h"

#define BUCKETS 4096 /* a power of two */

static struct hm_forklock lock;
static struct hm_known *bucket[BUCKETS];

static void begin_fork(void)
{
    hm_forklock_begin_fork(&lock);
}

static void end_fork(void)
{
    hm_forklock_end_fork(&lock);
}

static void end_fork_in_child(void)
{
    hm_forklock_end_fork_in_child(&lock);
}

const struct hm_fork_handlers hm_known_fork = {begin_fork, end_fork, end_fork_in_child};

bool hm_known_lock(void)
{
    return hm_forklock_take(&lock);
}

void hm_known_unlock(void)
{
    hm_forklock_give(&lock);
}

/*
 * Make the descriptor and the data accessible. The page of the descriptor is written to while all is one mapping. So
 * the kernel keeps the pages of all parts together (one anon_vma), and parts that had policies of their own become one
 * mapping again where they have one policy. Not so where a huge page could take the place of the descriptor and of data
 * whose node is not chosen yet; there are few pages to copy then.
 */
static bool make_parts(char *start, size_t head, char *data, char *end, bool is_for_move)
{
    size_t page = hm_page_size(), data_bytes = (size_t)(end - data) - page;
    if (is_for_move)
        return mprotect(start, head, PROT_READ | PROT_WRITE) == 0;
    if (data_bytes < HM_KNOWN_HUGE_PAGE)
        return mprotect(start, head, PROT_READ | PROT_WRITE) == 0 &&
               mprotect(data, data_bytes, PROT_READ | PROT_WRITE) == 0;
    if (mprotect(start, (size_t)(end - start), PROT_READ | PROT_WRITE) < 0)
        return false;
    *(volatile char *)start = 0;
    return mprotect(data - page, page, PROT_NONE) == 0 && mprotect(end - page, page, PROT_NONE) == 0;
}

struct hm_known *hm_known_map(size_t bytes, size_t alignment, size_t n_runs, bool is_for_move)
{
    size_t page = hm_page_size(),
           align = (size_t)hm_most(alignment, bytes >= HM_KNOWN_HUGE_PAGE ? HM_KNOWN_HUGE_PAGE : page);
    size_t head =
        hm_round_up(sizeof(struct hm_known) + (n_runs + HM_KNOWN_MORE_RUNS) * sizeof(struct hm_alloc_run), page);
    size_t data_bytes, whole;
    if (__builtin_add_overflow(bytes, page - 1, &data_bytes) ||
        __builtin_add_overflow(data_bytes, head + align + 2 * page, &whole)) {
        errno = ENOMEM;
        return NULL;
    }
    data_bytes = hm_round_up(bytes, page);
    char *base = hm_kernel_map(whole);
    if (base == MAP_FAILED)
        return NULL;
    /* From `start` to `end`: the descriptor, a guard page, the data, a guard page. What the alignment leaves over on
     * both sides is unmapped. */
    char *data = base + hm_round_up((uintptr_t)base + head + page, align) - (uintptr_t)base;
    char *start = data - page - head, *end = data + data_bytes + page;
    if (start > base)
        munmap(base, (size_t)(start - base));
    if (base + hm_round_up(whole, page) > end)
        munmap(end, (size_t)(base + hm_round_up(whole, page) - end));
    if (!make_parts(start, head, data, end, is_for_move)) {
        munmap(start, (size_t)(end - start));
        errno = ENOMEM;
        return NULL;
    }
    struct hm_known *known = (struct hm_known *)(void *)start;
    known->data = data;
    known->bytes = known->used_bytes = bytes;
    known->data_bytes = data_bytes;
    known->base = start;
    known->base_bytes = (size_t)(end - start);
    known->most_runs = n_runs + HM_KNOWN_MORE_RUNS;
    return known;
}

void hm_known_unmap(struct hm_known *known)
{
    if (known->is_apart)
        munmap(known->data, known->data_bytes);
    munmap(known->base, known->base_bytes);
}

static struct hm_known **bucket_of(const void *data)
{
    uint64_t number = (uint64_t)(uintptr_t)data >> hm_page_shift();
    return &bucket[(number * UINT64_C(0x9E3779B97F4A7C15)) >> 52 & (BUCKETS - 1)]; /* Fibonacci hashing */
}

void hm_known_add(struct hm_known *known)
{
    struct hm_known **head = bucket_of(known->data);
    known->next = *head;
    *head = known;
}

struct hm_known *hm_known_find(const void *data)
{
    struct hm_known *known = *bucket_of(data);
    while (known && known->data != data)
        known = known->next;
    return known;
}

void hm_known_remove(struct hm_known *known)
{
    struct hm_known **link = bucket_of(known->data);
    while (*link != known)
        link = &(*link)->next;
    *link = known->next;
}
