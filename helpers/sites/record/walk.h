/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks a stack by rules that are known of its return addresses (cfi.h), without the unwinder: by the frame pointer
 * where the function keeps one, else by the size of its frame. The frames are those that the unwinder finds. A rule is
 * read from the object's table for exceptions when its address is met first. Calls no malloc. Reads no memory that it
 * does not know to be there: a damaged stack ends. On x86-64 and arm64.
 */
#ifndef HM_SITES_RECORD_WALK_H
#define HM_SITES_RECORD_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "stack.h"

/* Gets the stack from the return address `caller` on, as far as its memory can be read; empty: it is not found.
 * `may_learn`: the loader may be asked, for rules that are not known. Returns false where the unwinder has to walk: a
 * rule says more than cfi.h understands, or is not known and must not be learnt, or an object is being unloaded. The
 * unwinder trusts a stack as it is. */
bool hm_walk(const void *caller, bool may_learn, struct hm_stack *stack);

/* What is known of code is not used, until hm_walk_forget is called as often. */
void hm_walk_hold(void);
/* An object was unloaded: other code may be at its addresses. */
void hm_walk_forget(void);
/* In a child of fork, where threads that were unloading objects are gone: only what this one unloads is waited for. */
void hm_walk_look_in_child(void);

#endif
