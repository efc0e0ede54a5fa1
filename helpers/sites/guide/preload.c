/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhybridmem-guide.so: memory of the sites that a table names comes from the fast tier. All other memory is where the
 * process's policy has it, which is that of the slow tier: so it costs nothing but the look at its stack.
 */
#include "preload.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "alloc/next.h"
#include "alloc/preload.h"
#include "sites/compile/given.h"
#include "sites/record/stack.h"
#include "table.h"

#define CACHE 4096 /* stacks whose tier is known; a power of two */

const char hm_next_library[] = "libhybridmem-guide.so";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hm_guide_table table;
static bool is_on; /* else nothing is guided */
static struct hm_layout layout;
static struct hm_set fast_nodes;

static void begin(void)
{
    const char *text = secure_getenv(HM_GUIDE_TABLE);
    if (!text || hm_guide_parse(text, &table) < 0 || hm_preload_parse_nodes(table.nodes, &layout, NULL) < 0)
        return;
    for (int i = 0; i < layout.n_nodes; i++)
        if (layout.node[i].is_fast)
            hm_set_add(&fast_nodes, (unsigned)layout.node[i].id);
    hm_stack_begin();
    is_on = table.n_ids > 0 && !hm_set_is_empty(&fast_nodes);
}

void hm_layout_read(struct hm_layout *into)
{
    *into = layout; /* it was read before the first allocation was placed */
}

const struct hm_set *hm_guide_fast_nodes(void)
{
    return &fast_nodes;
}

/* Tiers by the stacks' addresses in this process: the upper bits of their hash, 2, and 1 where the site is fast. */
static _Atomic uint64_t known[CACHE];

void hm_guide_forget_code(void)
{
    for (unsigned i = 0; i < CACHE; i++)
        atomic_store_explicit(&known[i], 0, memory_order_relaxed);
}

static bool look_up(const void *caller)
{
    struct hm_stack stack;
    hm_stack_walk(caller, &stack);
    uint64_t hash = hm_stack_hash(&stack) & ~UINT64_C(3);
    _Atomic uint64_t *place = &known[hash >> 14 & (CACHE - 1)];
    uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
    if ((found & 2) && (found & ~UINT64_C(3)) == hash)
        return found & 1;
    bool is_fast = hm_guide_has(&table, hm_stack_id(&stack));
    atomic_store_explicit(place, hash | 2 | is_fast, memory_order_relaxed);
    return is_fast;
}

/* `given`: the id that the program was compiled with (sites/compile/given.h); 0: its stack tells. */
static bool is_site_fast(uint64_t given, const void *caller)
{
    static _Thread_local bool is_inside; /* the walk, or what it calls, allocates */
    if (is_inside)
        return false;
    is_inside = true;
    pthread_once(&once, begin);
    bool is_fast = is_on && (given != 0 ? hm_guide_has(&table, given) : look_up(caller));
    is_inside = false;
    return is_fast;
}

bool hm_guide_is_fast(const void *caller)
{
    return is_site_fast(0, caller);
}

bool hm_preload_choose(size_t bytes, const void *caller, enum hm_alloc_policy *policy)
{
    (void)bytes;
    *policy = HM_ALLOC_FAST;
    return is_site_fast(HM_SITES_GIVEN, caller);
}
