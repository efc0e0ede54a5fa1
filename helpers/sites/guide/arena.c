/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small allocations of the chosen sites and size classes: jemalloc has them, in memory of the fast tier where nothing
 * else is. All others come from the next malloc, whichever that is, so that its pages have none of them.
 */
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "alloc/small.h"
#include "base/amount.h"
#include "base/clock.h"
#include "extents.h"
#include "jemalloc.h"
#include "preload.h"

#define ARENAS 4 /* that the threads are spread over; each reserves addresses, and a thread has a cache before it */
#define BYTES_FOR_ARENA ((uint64_t)64 << 20)
#define ALIGN _Alignof(max_align_t)
#define NONE UINT32_MAX
#define PAUSE_NS UINT64_C(1000000000)

#define LIMITED ARENAS /* the one of the site that has a limit of its own */
/* A thread has one cache for all arenas: there other sites would find this site's memory, and it would find theirs. */
#define UNCACHED MALLOCX_TCACHE_NONE

static pthread_once_t once = PTHREAD_ONCE_INIT, once_of[ARENAS + 1]; /* PTHREAD_ONCE_INIT is 0 */
static atomic_bool is_open;
static unsigned arena[ARENAS + 1];
static atomic_uint n_threads;
static _Thread_local unsigned place; /* of this thread's arena, plus 1; 0: none yet */
static _Thread_local bool is_own;    /* jemalloc's malloc has that arena, too */
/* There was no memory for the arenas. Until then, or until some of theirs is freed, they are not asked again, as that
 * takes longer than an allocation. */
static _Atomic uint64_t paused_until_ns[HM_GUIDE_LIMITED + 1]; /* by tier */

/* ---------------------------------------------------------- begin and fork */

static pthread_mutex_t begin_lock = PTHREAD_MUTEX_INITIALIZER; /* while jemalloc begins, and over fork */
static _Thread_local unsigned n_forks;                         /* that this thread is in: a handler may fork in one */
static _Thread_local bool has_locks;                           /* begin_fork has taken the locks */

/* Nothing is taken or given in other handlers of fork that run between these. A signal handler may fork where it has
 * interrupted an allocation, which has such a lock perhaps: then none is taken here. */
static void begin_fork(void)
{
    if (n_forks++ > 0)
        return;
    has_locks = hm_guide_enter();
    if (!has_locks)
        return;
    pthread_mutex_lock(&begin_lock);
    if (hm_jemalloc_fork.before)
        hm_jemalloc_fork.before();
}

/* Is the fork that ends now in no other? None had begun where the handlers were registered meanwhile. */
static bool is_outer_fork(void)
{
    return n_forks == 0 || --n_forks == 0;
}

static void end_fork(void)
{
    if (!is_outer_fork() || !has_locks)
        return;
    if (hm_jemalloc_fork.after)
        hm_jemalloc_fork.after();
    pthread_mutex_unlock(&begin_lock);
    has_locks = false;
    hm_guide_leave();
}

/* Where the locks were not taken, a thread that the child has not may have one for ever. */
static void end_fork_in_child(void)
{
    if (!is_outer_fork())
        return;
    if (!has_locks) {
        atomic_store(&is_open, false);
        return;
    }
    if (hm_jemalloc_fork.in_child)
        hm_jemalloc_fork.in_child();
    pthread_mutex_init(&begin_lock, NULL);
    has_locks = false;
    hm_guide_leave();
}

const struct hm_fork_handlers hm_small_fork = {begin_fork, end_fork, end_fork_in_child};

/* Files are read here, where a thread can be cancelled; malloc must not be such a place. In a child that was forked
 * meanwhile this is called again. */
static void begin(void)
{
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&begin_lock);
    if (hm_extents_begin() == 0)
        atomic_store(&is_open, true);
    pthread_mutex_unlock(&begin_lock);
    pthread_setcancelstate(before, NULL);
}

/* Makes this thread's arena. */
static void make(void)
{
    unsigned *mine = &arena[place - 1];
    if (hm_extents_make_arena(HM_GUIDE_FAST, mine) != 0)
        *mine = NONE;
}

static void make_limited(void)
{
    if (hm_extents_make_arena(HM_GUIDE_LIMITED, &arena[LIMITED]) != 0)
        arena[LIMITED] = NONE;
}

/* ---------------------------------------------------------- allocations */

static bool is_paused(enum hm_guide_tier tier)
{
    uint64_t until_ns = atomic_load_explicit(&paused_until_ns[tier], memory_order_relaxed);
    if (until_ns == 0)
        return false;
    if (hm_clock_ns(CLOCK_MONOTONIC_COARSE) < until_ns)
        return true;
    atomic_store_explicit(&paused_until_ns[tier], 0, memory_order_relaxed);
    return false;
}

/* Where fast memory is limited, fewer arenas leave less of it unused. */
static unsigned arenas(void)
{
    uint64_t fitting = hm_guide_limit.most_bytes / BYTES_FOR_ARENA;
    return fitting < 1 ? 1 : fitting < ARENAS ? (unsigned)fitting : ARENAS;
}

static unsigned arena_for(enum hm_guide_tier tier)
{
    if (tier == HM_GUIDE_LIMITED) {
        pthread_once(&once_of[LIMITED], make_limited);
        return arena[LIMITED];
    }
    if (place == 0) {
        place = atomic_fetch_add(&n_threads, 1) % arenas() + 1;
        pthread_once(&once_of[place - 1], make);
        unsigned *mine = &arena[place - 1];
        is_own = *mine != NONE && hm_jemalloc_mallctl("thread.arena", NULL, NULL, mine, sizeof(*mine)) == 0;
    }
    return arena[place - 1];
}

/* Most allocations are for malloc: mallocx takes longer. jemalloc aligns what is smaller than ALIGN to 8 bytes only,
 * and libc does not. */
static void *take_of(unsigned mine, enum hm_guide_tier tier, size_t alignment, size_t bytes, bool is_zeroed)
{
    size_t aligned = hm_most(bytes, ALIGN);
    if (is_own && tier == HM_GUIDE_FAST && alignment <= ALIGN && !is_zeroed)
        return hm_jemalloc_malloc(aligned);
    int flags = MALLOCX_ARENA((int)mine) | MALLOCX_ALIGN(alignment) | (is_zeroed ? MALLOCX_ZERO : 0);
    return hm_jemalloc_mallocx(aligned, tier == HM_GUIDE_LIMITED ? flags | UNCACHED : flags);
}

static bool is_ready(void)
{
    if (atomic_load_explicit(&is_open, memory_order_acquire)) /* what begin() has set up is seen, too */
        return true;
    pthread_once(&once, begin);
    return atomic_load_explicit(&is_open, memory_order_relaxed);
}

static void *take(enum hm_guide_tier tier, size_t alignment, size_t bytes, bool is_zeroed)
{
    if (!is_ready() || is_paused(tier) || alignment > HM_EXTENTS_ALIGN)
        return NULL;
    unsigned mine = arena_for(tier);
    void *memory = mine == NONE ? NULL : take_of(mine, tier, alignment, bytes, is_zeroed);
    if (!memory)
        atomic_store(&paused_until_ns[tier], hm_clock_ns(CLOCK_MONOTONIC_COARSE) + PAUSE_NS);
    /* Where a thread ends, and its data of jemalloc is gone, jemalloc takes memory of its own arena for all. */
    if (!memory || hm_extents_tier(memory) != HM_GUIDE_SLOW)
        return memory;
    hm_jemalloc_free(memory);
    return NULL;
}

void *hm_small_take(size_t alignment, size_t bytes, bool is_zeroed, struct hm_preload_where where)
{
    if (where.tier == HM_GUIDE_SLOW || !hm_guide_enter())
        return NULL;
    void *memory = take(where.tier, alignment, bytes, is_zeroed);
    hm_guide_leave();
    return memory;
}

bool hm_small_has(const void *memory)
{
    return hm_extents_tier(memory) != HM_GUIDE_SLOW;
}

bool hm_small_stays(const void *memory, struct hm_preload_where where)
{
    return hm_extents_tier(memory) == where.tier;
}

size_t hm_small_bytes(const void *memory)
{
    bool is_outside = hm_guide_enter();
    size_t bytes = hm_jemalloc_usable_size((void *)(uintptr_t)memory);
    if (is_outside)
        hm_guide_leave();
    return bytes;
}

/* In a handler of fork it stays allocated, in the child and in the parent. */
bool hm_small_give(void *memory)
{
    enum hm_guide_tier tier = hm_extents_tier(memory);
    if (tier == HM_GUIDE_SLOW)
        return false;
    if (!hm_guide_enter())
        return true;
    bool is_limited = tier == HM_GUIDE_LIMITED, can_free = atomic_load_explicit(&is_open, memory_order_relaxed);
    if (can_free && is_limited)
        hm_jemalloc_dallocx(memory, UNCACHED);
    else if (can_free)
        hm_jemalloc_free(memory);
    _Atomic uint64_t *paused = &paused_until_ns[tier];
    if (atomic_load_explicit(paused, memory_order_relaxed) != 0)
        atomic_store_explicit(paused, 0, memory_order_relaxed);
    hm_guide_leave();
    return true;
}
