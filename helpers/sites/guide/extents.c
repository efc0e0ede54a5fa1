/* SPDX-License-Identifier: Apache-2.0 */
#include "extents.h"

#include <jemalloc/jemalloc.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc/mappings.h"
#include "jemalloc.h"

/*
 * Maps of the addresses, so that free can tell whose memory it is: a bit for each unit, in leaves that are made where
 * they are needed. No unit has memory of others in it.
 */
#define UNIT HM_EXTENTS_ALIGN
#define UNIT_SHIFT 21
_Static_assert(UNIT == (size_t)1 << UNIT_SHIFT, "the shift is that of the unit");
#define LEAF_SHIFT 15 /* units of a leaf: 64 GiB */
#define LEAF_WORDS ((1u << LEAF_SHIFT) / 64)
#define ADDRESS_BITS 48               /* without a hint, Linux maps nothing above */
#define FAST_LEAST ((size_t)64 << 10) /* the least of a unit that is worth being bound; pages are no larger */
#define GROWTH 16                     /* arenas take at most this part of what they may have at a time */
#define LEAVES (1u << (ADDRESS_BITS - LEAF_SHIFT - UNIT_SHIFT))

typedef _Atomic uint64_t word;
static word *_Atomic leaf[HM_GUIDE_LIMITED + 1][LEAVES]; /* by tier */

enum hm_guide_tier hm_extents_tier(const void *memory)
{
    uintptr_t unit = (uintptr_t)memory >> UNIT_SHIFT, at = unit >> LEAF_SHIFT;
    unit &= (1u << LEAF_SHIFT) - 1;
    for (enum hm_guide_tier tier = HM_GUIDE_FAST; tier <= HM_GUIDE_LIMITED; tier++) {
        const word *words = at < LEAVES ? atomic_load_explicit(&leaf[tier][at], memory_order_acquire) : NULL;
        if (words && (atomic_load_explicit(&words[unit / 64], memory_order_relaxed) >> unit % 64 & 1))
            return tier;
    }
    return HM_GUIDE_SLOW;
}

static void *map(size_t bytes, int protection)
{
    void *memory = (void *)syscall(SYS_mmap, NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    return memory == MAP_FAILED ? NULL : memory;
}

/* The leaf of a unit, which is made where there is none. NULL: there is no memory for it. */
static word *leaf_of(enum hm_guide_tier tier, uintptr_t unit)
{
    word *_Atomic *place = &leaf[tier][unit >> LEAF_SHIFT];
    word *words = atomic_load_explicit(place, memory_order_acquire), *made;
    if (words)
        return words;
    made = map(LEAF_WORDS * sizeof(word), PROT_READ | PROT_WRITE);
    if (!made || atomic_compare_exchange_strong(place, &words, made))
        return made;
    munmap(made, LEAF_WORDS * sizeof(word));
    return words; /* that of another thread */
}

static bool add(enum hm_guide_tier tier, uintptr_t start, size_t bytes)
{
    uintptr_t first = start >> UNIT_SHIFT, end = (start + bytes) >> UNIT_SHIFT;
    for (uintptr_t unit = first; unit < end; unit++) {
        word *words = unit >> LEAF_SHIFT < LEAVES ? leaf_of(tier, unit) : NULL;
        if (!words)
            return false; /* the addresses stay mapped, as bits of some may be set */
        uintptr_t at = unit & ((1u << LEAF_SHIFT) - 1);
        atomic_fetch_or_explicit(&words[at / 64], UINT64_C(1) << at % 64, memory_order_relaxed);
    }
    return true;
}

/* What an arena takes as it is made is for jemalloc's own data: it has no need of the fast tier. */
static _Thread_local bool is_making;

/* Maps whole units that nobody else has a part of. The first `fast_bytes` are in the fast tier; jemalloc takes low
 * addresses first. NULL: it is not possible. */
static void *map_units(enum hm_guide_tier tier, size_t bytes, size_t fast_bytes)
{
    char *base = map(bytes + UNIT, PROT_NONE);
    if (!base)
        return NULL;
    char *start = base + (-(uintptr_t)base & (UNIT - 1)), *end = base + bytes + UNIT;
    if (start > base)
        munmap(base, (size_t)(start - base));
    if (start + bytes < end)
        munmap(start + bytes, (size_t)(end - start) - bytes);
    if (mprotect(start, bytes, PROT_READ | PROT_WRITE) != 0 ||
        (fast_bytes > 0 && hm_guide_bind_fast(start, fast_bytes, false) != 0)) {
        munmap(start, bytes);
        return NULL;
    }
    return add(tier, (uintptr_t)start, bytes) ? start : NULL;
}

/* ---------------------------------------------------------- jemalloc's hooks */

/* Takes bytes of the limits: for a limited site also a part. Returns how many, in whole pages. */
static size_t take_fast(enum hm_guide_tier tier, size_t bytes)
{
    size_t taken = hm_guide_take(tier, bytes, tier == HM_GUIDE_LIMITED ? FAST_LEAST : bytes);
    size_t whole = taken & ~(FAST_LEAST - 1);
    hm_guide_give(tier, taken - whole);
    hm_guide_fit();
    return whole;
}

static extent_hooks_t hooks_of[HM_GUIDE_LIMITED + 1]; /* by tier */

static void *take(extent_hooks_t *hooks, void *wanted, size_t bytes, size_t alignment, bool *zero, bool *commit,
                  unsigned arena)
{
    enum hm_guide_tier tier = (enum hm_guide_tier)(hooks - hooks_of);
    size_t whole;
    (void)arena;
    if (wanted || alignment > UNIT || __builtin_add_overflow(bytes, UNIT - 1, &whole) || !hm_mappings_take(1))
        return NULL;
    whole &= ~(UNIT - 1);
    size_t fast_bytes = is_making ? 0 : take_fast(tier, whole);
    void *memory = is_making || fast_bytes > 0 ? map_units(tier, whole, fast_bytes) : NULL;
    if (!memory) {
        hm_guide_give(tier, fast_bytes);
        hm_mappings_give(1);
    }
    *zero = *commit = true;
    return memory;
}

/* jemalloc then keeps the addresses for the arena, and gives the pages back to the kernel. */
static bool refuse(extent_hooks_t *hooks, void *memory, size_t bytes, bool committed, unsigned arena)
{
    (void)hooks;
    (void)memory;
    (void)bytes;
    (void)committed;
    (void)arena;
    return true;
}

int hm_extents_begin(void)
{
    extent_hooks_t *usual = NULL;
    size_t bytes = sizeof(usual);
    hm_mappings_take(0); /* it reads a file the first time, and in an allocation it must not */
    if (hm_jemalloc_mallctl("arena.0.extent_hooks", &usual, &bytes, NULL, 0) != 0)
        return -1;
    /* To split, merge and purge is as usual. Memory is never decommitted: it would lose its policy. */
    for (int tier = HM_GUIDE_FAST; tier <= HM_GUIDE_LIMITED; tier++)
        hooks_of[tier] = (extent_hooks_t){.alloc = take,
                                          .dalloc = refuse,
                                          .purge_lazy = usual->purge_lazy,
                                          .purge_forced = usual->purge_forced,
                                          .split = usual->split,
                                          .merge = usual->merge};
    return 0;
}

/* Arenas take more addresses at a time the more they have. Where these are few, they are not to take far more than they
 * use. */
static void limit_growth(enum hm_guide_tier tier, unsigned arena)
{
    uint64_t most_bytes = tier == HM_GUIDE_LIMITED ? hm_guide_limited.most_bytes : hm_guide_limit.most_bytes;
    size_t most = most_bytes / GROWTH;
    char name[48];
    if (most < UNIT)
        most = UNIT;
    snprintf(name, sizeof(name), "arena.%u.retain_grow_limit", arena);
    if (most_bytes != UINT64_MAX)
        hm_jemalloc_mallctl(name, NULL, NULL, &most, sizeof(most));
}

int hm_extents_make_arena(enum hm_guide_tier tier, unsigned *arena)
{
    extent_hooks_t *ours = &hooks_of[tier];
    size_t bytes = sizeof(*arena);
    is_making = true;
    int status = hm_jemalloc_mallctl("arenas.create", arena, &bytes, &ours, sizeof(ours)) == 0 ? 0 : -1;
    is_making = false;
    if (status == 0)
        limit_growth(tier, *arena);
    return status;
}
