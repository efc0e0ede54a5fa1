/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces the function by which all code registers handlers of fork, so that those of this library are the first: in
 * the parent they then run last before the fork, as what libc's malloc does itself, and first after it. A lock of
 * the library's is thus never held while a thread waits for a lock of the program's, under which another thread may
 * allocate. A constructor of the library's would run too late: those of the program's libraries come before it.
 */
#ifndef HM_ALLOC_NEXTFORK_H
#define HM_ALLOC_NEXTFORK_H

#include "forklock.h"

/* The library's own, with NULL at the end; each library defines it. Those before the fork run from the last to the
 * first. */
extern const struct hm_fork_handlers *const hm_fork_handlers[];

/* Registers them, once; to be called before any of their locks is used. Returns whether it could. */
bool hm_fork_begin(void);

#endif
