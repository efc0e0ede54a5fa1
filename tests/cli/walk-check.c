/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A preload library for tests of sites/record/walk.h: each malloc walks its stack by the rules and by the unwinder.
 * walk_counts tells how many walks there were, how many of them the rules did, and how many of these differ.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sites/record/stack.h"
#include "sites/record/walk.h"

void *__libc_malloc(size_t bytes);

volatile int walk_alone; /* without the unwinder, which cannot read a damaged stack */

static atomic_ulong walks, by_rules, differ;
static _Thread_local int is_inside;

void walk_counts(unsigned long count[3])
{
    count[0] = atomic_exchange(&walks, 0);
    count[1] = atomic_exchange(&by_rules, 0);
    count[2] = atomic_exchange(&differ, 0);
}

static void print(const char *name, const struct hm_stack *stack)
{
    fprintf(stderr, "%s:", name);
    for (unsigned i = 0; i < stack->n; i++)
        fprintf(stderr, " %#lx", (unsigned long)stack->address[i]);
    fputc('\n', stderr);
}

__attribute__((noinline)) static void check(const void *caller)
{
    struct hm_stack ours, theirs;
    atomic_fetch_add(&walks, 1);
    if (!hm_walk(caller, 1, &ours))
        return;
    atomic_fetch_add(&by_rules, 1);
    if (walk_alone)
        return;
    hm_stack_unwind(caller, &theirs);
    if (ours.n == theirs.n && memcmp(ours.address, theirs.address, ours.n * sizeof(*ours.address)) == 0)
        return;
    atomic_fetch_add(&differ, 1);
    print("rules", &ours);
    print("unwinder", &theirs);
}

void *malloc(size_t bytes)
{
    void *memory = __libc_malloc(bytes);
    if (!is_inside) {
        is_inside = 1;
        check(__builtin_return_address(0));
        is_inside = 0;
    }
    return memory;
}

int dlclose(void *handle)
{
    static int (*next)(void *);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlclose");
    hm_stack_hold();
    int status = next(handle);
    hm_stack_forget();
    return status;
}

__attribute__((constructor)) static void begin(void)
{
    if (hm_stack_begin() < 0)
        abort();
}

/* For programs that do not ask. */
__attribute__((destructor)) static void end(void)
{
    if (getenv("WALK_CHECK"))
        fprintf(stderr, "walks %lu rules %lu differ %lu\n", walks, by_rules, differ);
}
