/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a call of an allocation function to its site in the table. Calls no malloc.
 *
 * Stacks are walked by rules that are known of their return addresses (walk.h), else with libgcc's unwinder, which is
 * bounded and needs no lock with glibc 2.35 and later. Both find the same frames: another one would be another site.
 */
#ifndef HM_SITES_RECORD_STACK_H
#define HM_SITES_RECORD_STACK_H

#include <stdint.h>

#include "table.h"

struct hm_stack {
    unsigned n;
    uintptr_t address[HM_SITES_DEPTH]; /* return addresses, innermost first */
};

/* Once, before the others: finds out the program's path, while it can, and watches for forks. In the child of a process
 * with threads no new site is met, as a thread that is gone may have the loader's lock. Returns 0, or -1. */
int hm_stack_begin(void);

/* The build-id of the program that this process executes; "": it has none. */
void hm_stack_program(char build_id[HM_BUILDID_TEXT]);

/* Gets the stack from the return address `caller` on. Where it is not found, only that one is in it. */
void hm_stack_walk(const void *caller, struct hm_stack *stack);
/* The same by the unwinder alone; empty where it is not found. */
void hm_stack_unwind(const void *caller, struct hm_stack *stack);

/* The id of the stack's site: the same in each run. Looks at all loaded objects. 0: it cannot, in such a child. */
uint64_t hm_stack_id(const struct hm_stack *stack);
/* A hash of the addresses, for what is remembered in this process only. */
uint64_t hm_stack_hash(const struct hm_stack *stack);

/* The index of the site with this id in the table, which the program was compiled with (sites/compile/given.h). Its
 * frames are those of its first allocation. HM_SITES_ENTRIES: there is no room, or it is new in such a child. */
uint32_t hm_stack_given_site(struct hm_sites_table *table, uint64_t id, const void *caller);

/* The index of the stack's site in the table; HM_SITES_ENTRIES: as above. */
uint32_t hm_stack_site(struct hm_sites_table *table, const struct hm_stack *stack);

/* Around the unloading of an object: before it, so that nothing known is used in a walk; after it, so that what was
 * known of addresses is forgotten, as other code may be at them. */
void hm_stack_hold(void);
void hm_stack_forget(void);

#endif
