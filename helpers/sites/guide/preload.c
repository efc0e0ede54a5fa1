/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhybridmem-guide.so: memory of the sites that a table names comes from the fast tier. All other memory is where the
 * process's policy has it, which is that of the slow tier: so it costs nothing but the look at its stack.
 */
#include "preload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/allocate.h"
#include "alloc/kept.h"
#include "alloc/kernel.h"
#include "alloc/next.h"
#include "alloc/nextfork.h"
#include "alloc/small.h"
#include "base/amount.h"
#include "sites/compile/given.h"
#include "sites/profile/slices.h"
#include "sites/record/stack.h"
#include "table.h"

#define CACHE 4096 /* stacks whose tier is known; a power of two */
#define MIB ((size_t)1 << 20)
#define ARENA_BYTES (2 * MIB)
#define LEAST 8  /* least part of an allocation that is worth a place of its own */
#define SLICE 32 /* the same where the site has a limit, and so never more than a part */

const char hm_next_library[] = "libhybridmem-guide.so";
const struct hm_fork_handlers *const hm_fork_handlers[] = {&hm_known_fork, &hm_small_fork, NULL};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hm_guide_table table;
static bool is_on;       /* else nothing is guided */
static bool has_sites;   /* else stacks need no look */
static unsigned classes; /* a bit for each size class whose memory is fast */
static struct hm_layout layout;
static struct hm_set fast_nodes;
struct hm_limit hm_guide_limit = {.most_bytes = UINT64_MAX}, hm_guide_limited = {.most_bytes = UINT64_MAX};

/* The classes are of all small allocations of the program that the profile is of. Another that it executes has its own.
 */
static bool is_program_of_classes(void)
{
    char build_id[HM_BUILDID_TEXT];
    hm_stack_program(build_id);
    return build_id[0] && strcmp(build_id, table.program) == 0;
}

static void find_classes(void)
{
    size_t n = 0;
    for (unsigned i = 0; i < HM_SITES_CLASSES; i++)
        if (hm_guide_has(&table, hm_sites_class_id(i))) {
            classes |= 1u << i;
            n++;
        }
    has_sites = table.n_ids > n;
    if (n > 0 && !is_program_of_classes())
        classes = 0;
}

/* The first small allocation takes the addresses of many, which are not to be missing elsewhere. */
static void set_limit(void)
{
    bool has_small = classes != 0 || table.least_bytes < HM_ALLOC_LEAST;
    if (table.limit_bytes > 0 &&
        __builtin_add_overflow(table.limit_bytes, has_small ? ARENA_BYTES : 0, &hm_guide_limit.most_bytes))
        hm_guide_limit.most_bytes = UINT64_MAX;
    if (hm_guide_limit.most_bytes == UINT64_MAX && table.n_parts > 0) /* mremap has to know the parts of a mapping */
        hm_guide_limit.most_bytes = UINT64_MAX - 1;
    if (table.limited_bytes > 0)
        hm_guide_limited.most_bytes = table.limited_bytes;
}

static void begin(void)
{
    const char *text = secure_getenv(HM_GUIDE_TABLE);
    if (!hm_fork_begin() || !text || hm_guide_parse(text, &table) < 0 ||
        hm_preload_parse_nodes(table.nodes, &layout, NULL) < 0)
        return;
    for (int i = 0; i < layout.n_nodes; i++)
        if (layout.node[i].is_fast)
            hm_set_add(&fast_nodes, (unsigned)layout.node[i].id);
    find_classes();
    set_limit();
    has_sites = has_sites && hm_stack_begin() == 0;
    is_on = (has_sites || classes != 0) && !hm_set_is_empty(&fast_nodes);
}

void hm_layout_read(struct hm_layout *into)
{
    *into = layout; /* it was read before the first allocation was placed */
}

/* Where the nodes are full, the kernel takes the nearest others. */
int hm_guide_bind_fast(void *memory, size_t bytes, bool has_pages)
{
    return has_pages ? hm_kernel_move_to_any(memory, bytes, &fast_nodes)
                     : hm_kernel_prefer_any(memory, bytes, &fast_nodes);
}

_Thread_local bool hm_guide_is_inside;

/* What is known of a site: its tier, or DIVIDED and the number of its part in the table. */
#define TIER UINT64_C(3)
#define DIVIDED UINT64_C(3)
#define PART_SHIFT 3
#define PART (UINT64_C(63) << PART_SHIFT)
_Static_assert(HM_GUIDE_LIMITED < DIVIDED && HM_GUIDE_PARTS <= 64, "a word has room for all tiers and parts");

/* The same by the stacks' addresses in this process: with the upper bits of their hash, and KNOWN. */
#define KNOWN UINT64_C(4)
static _Atomic uint64_t known[CACHE];

void hm_guide_forget_code(void)
{
    for (unsigned i = 0; i < CACHE; i++)
        atomic_store_explicit(&known[i], 0, memory_order_relaxed);
}

static uint64_t find_site(uint64_t id)
{
    if (!hm_guide_has(&table, id))
        return HM_GUIDE_SLOW;
    if (table.limited_bytes > 0 && id == table.limited)
        return HM_GUIDE_LIMITED;
    int part = hm_guide_find_part(&table, id);
    return part < 0 ? HM_GUIDE_FAST : DIVIDED | (uint64_t)part << PART_SHIFT;
}

static uint64_t find_stack(const void *caller)
{
    struct hm_stack stack;
    hm_stack_walk(caller, &stack);
    uint64_t hash = hm_stack_hash(&stack) & ~(KNOWN | TIER | PART);
    _Atomic uint64_t *place = &known[hash >> 14 & (CACHE - 1)];
    uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
    if ((found & KNOWN) && (found & ~(KNOWN | TIER | PART)) == hash)
        return found & (TIER | PART);
    uint64_t site = find_site(hm_stack_id(&stack));
    atomic_store_explicit(place, hash | KNOWN | site, memory_order_relaxed);
    return site;
}

static struct hm_preload_where all_in(unsigned tier)
{
    return (struct hm_preload_where){tier, HM_SLICES_ALL};
}

/* Allocations of another size than those by which a site is divided are slow: hardly an access was to them. */
static struct hm_preload_where divide(size_t number, size_t bytes)
{
    static _Atomic uint64_t ordered_bytes[HM_GUIDE_PARTS]; /* that were allocated at the site before, as recorded */
    const struct hm_guide_part *part = &table.part[number];
    bool is_large = bytes >= HM_SLICES_LARGE;
    if (is_large != (part->step_bytes == 0))
        return all_in(HM_GUIDE_SLOW);
    if (is_large)
        return (struct hm_preload_where){HM_GUIDE_FAST, part->slices};
    uint64_t before = atomic_fetch_add_explicit(&ordered_bytes[number], bytes, memory_order_relaxed);
    int slice = hm_slices_at(part->step_bytes, before, bytes);
    return all_in(slice < HM_SLICES && part->slices >> slice & 1 ? HM_GUIDE_FAST : HM_GUIDE_SLOW);
}

/* `given`: the id that the program was compiled with (sites/compile/given.h); 0: its stack tells. */
static struct hm_preload_where find(uint64_t given, size_t bytes, const void *caller)
{
    if (!has_sites || !hm_guide_enter())
        return all_in(HM_GUIDE_SLOW);
    uint64_t site = given != 0 ? find_site(given) : find_stack(caller);
    hm_guide_leave();
    return (site & TIER) == DIVIDED ? divide(site >> PART_SHIFT, bytes) : all_in(site & TIER);
}

/* False, too, where the library itself allocates as it begins. */
static bool is_guided(void)
{
    static atomic_bool has_begun;
    if (!atomic_load_explicit(&has_begun, memory_order_acquire)) {
        if (!hm_guide_enter())
            return false;
        pthread_once(&once, begin);
        hm_guide_leave();
        atomic_store_explicit(&has_begun, true, memory_order_release);
    }
    return is_on;
}

struct hm_preload_where hm_guide_where_of_mapping(size_t bytes, const void *caller)
{
    return is_guided() && bytes >= table.least_bytes ? find(0, bytes, caller) : all_in(HM_GUIDE_SLOW);
}

struct hm_preload_where hm_preload_where(size_t bytes, const void *caller)
{
    size_t usable = hm_sites_usable(bytes);
    if (!is_guided())
        return all_in(HM_GUIDE_SLOW);
    if (usable < table.least_bytes)
        return all_in(classes >> hm_sites_class(usable) & 1 ? HM_GUIDE_FAST : HM_GUIDE_SLOW);
    return find(HM_SITES_GIVEN, bytes, caller);
}

void hm_guide_fit(void)
{
    size_t kept = hm_kept_bytes();
    if (kept > 0 && hm_limit_left(&hm_guide_limit) < kept)
        hm_give_back_kept();
}

uint64_t hm_guide_take(enum hm_guide_tier tier, uint64_t bytes, uint64_t least)
{
    uint64_t own = tier == HM_GUIDE_LIMITED ? hm_limit_take(&hm_guide_limited, bytes, least) : bytes;
    uint64_t taken = own > 0 ? hm_limit_take(&hm_guide_limit, own, least) : 0;
    if (tier == HM_GUIDE_LIMITED)
        hm_limit_give(&hm_guide_limited, own - taken);
    return taken;
}

void hm_guide_give(enum hm_guide_tier tier, uint64_t bytes)
{
    hm_limit_give(&hm_guide_limit, bytes);
    if (tier == HM_GUIDE_LIMITED)
        hm_limit_give(&hm_guide_limited, bytes);
}

uint64_t hm_guide_least(enum hm_guide_tier tier, uint64_t bytes)
{
    return bytes < MIB ? bytes : bytes / (tier == HM_GUIDE_LIMITED ? SLICE : LEAST);
}

/* Takes bytes for slices of an allocation: for fewer of them, where not so many are left. The last one may be a part,
 * as several allocations together may round up a plan that just fits. */
static void take_slices(size_t bytes, uint32_t slices, struct hm_preload_choice *choice)
{
    size_t slice = bytes / HM_SLICES + (bytes % HM_SLICES != 0);
    unsigned n = (unsigned)__builtin_popcount(slices);
    size_t taken = hm_guide_take(HM_GUIDE_FAST, slice * n, slice);
    choice->policy = HM_ALLOC_SPILL;
    for (; slice * n > taken + slice / 2; n--)
        slices &= ~(UINT32_C(1) << (31 - __builtin_clz(slices)));
    choice->fast_slices = slices;
    choice->fast_bytes = taken;
}

/* The bytes that are left of the limits. */
static size_t left_of(enum hm_guide_tier tier)
{
    uint64_t left = hm_limit_left(&hm_guide_limit);
    return (size_t)(tier == HM_GUIDE_LIMITED ? hm_least(left, hm_limit_left(&hm_guide_limited)) : left);
}

bool hm_preload_choose(size_t bytes, struct hm_preload_where where, struct hm_preload_choice *choice)
{
    bool is_unlimited = where.tier == HM_GUIDE_FAST && hm_guide_limit.most_bytes == UINT64_MAX;
    *choice = (struct hm_preload_choice){.policy = HM_ALLOC_FAST, .is_marked = where.tier == HM_GUIDE_LIMITED};
    choice->spare_bytes = is_unlimited ? SIZE_MAX : 0;
    if (where.tier == HM_GUIDE_SLOW)
        return false;
    if (where.slices != HM_SLICES_ALL) {
        take_slices(bytes, where.slices, choice);
    } else if (!is_unlimited) {
        choice->fast_bytes = hm_guide_take(where.tier, bytes, hm_guide_least(where.tier, bytes));
        if (choice->fast_bytes < bytes) {
            choice->policy = HM_ALLOC_SPILL;
            choice->fast_share = (double)choice->fast_bytes / (double)bytes;
        }
        choice->spare_bytes = left_of(where.tier);
    }
    return is_unlimited || choice->fast_bytes > 0;
}

/* The recorder counts each realloc as a new allocation of the site that calls it. Slices are parts of one size. */
enum hm_preload_how hm_preload_resized(const struct hm_allocated *was, size_t bytes, struct hm_preload_where where)
{
    if (where.tier == HM_GUIDE_SLOW || was->is_marked != (where.tier == HM_GUIDE_LIMITED))
        return HM_PRELOAD_MOVES;
    return where.slices == HM_SLICES_ALL || bytes == was->bytes ? HM_PRELOAD_STAYS : HM_PRELOAD_ANEW;
}

void hm_preload_count(bool is_marked, size_t counted_bytes, size_t now_bytes)
{
    hm_limit_add(&hm_guide_limit, now_bytes);
    if (is_marked)
        hm_limit_add(&hm_guide_limited, now_bytes);
    hm_guide_give(is_marked ? HM_GUIDE_LIMITED : HM_GUIDE_FAST, counted_bytes);
    hm_guide_fit();
}
