/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of whole allocations that were freed, kept for the next ones of some such size and the same policy: their
 * pages and policies are there. As libc keeps memory: an allocation of at most 32 MiB, 64 MiB and 64 allocations in
 * all, the last ones that were freed; none for longer than a second from when it was freed, as far as memory is freed
 * or placed later. What is kept counts as placed still. The caller holds the library's lock.
 */
#ifndef HM_ALLOC_KEPT_H
#define HM_ALLOC_KEPT_H

#include "known.h"

/* Keeps it, if it is as its policy wants it and not too large. False: the caller frees it. */
bool hm_kept_put(struct hm_known *known);
/* Returns the smallest of that policy whose data has so many bytes, and the last one freed of several; NULL: there is
 * none. */
struct hm_known *hm_kept_take(size_t least_bytes, size_t most_bytes, int policy, size_t alignment);

/* Takes out what is kept for too long, or, with `all`, all. Returns a chain by `next`, which the caller frees. */
struct hm_known *hm_kept_take_out(bool all);

/* Bytes that are kept. Needs no lock. */
size_t hm_kept_bytes(void);

#endif
