/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model of a cache, which tells the loads and stores that reach memory: lines of 64 bytes, eight ways, least recently
 * used first out, write-back, allocating on loads and stores. Pure.
 */
#ifndef HM_MIGRATOR_RECORDING_LINECACHE_H
#define HM_MIGRATOR_RECORDING_LINECACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define HM_LINE_SHIFT 6                           /* a line is 64 bytes */
#define HM_LINECACHE_WAYS 8                       /* lines that a set has */
#define HM_LINECACHE_SET (HM_LINECACHE_WAYS * 64) /* bytes of a set: a cache's size is a multiple of this */
#define HM_LINECACHE_MOST (UINT64_C(1) << 30)     /* largest size, in bytes */
#define HM_LINECACHE_LINES (UINT64_C(1) << 62)    /* numbers of lines are below this */
#define HM_LINECACHE_NONE UINT64_MAX              /* no line */

struct hm_linecache;

/* Makes an empty cache of this size. Returns NULL with a text: EINVAL (the size), ENOMEM. hm_linecache_free frees it.
 */
struct hm_linecache *hm_linecache_new(uint64_t bytes, struct hm_error *error);
void hm_linecache_free(struct hm_linecache *cache);

/*
 * A load from or a store to a line. Returns true if the line is read from memory for it. `written` becomes the line
 * that is written back to memory to make room, or HM_LINECACHE_NONE.
 */
bool hm_linecache_touch(struct hm_linecache *cache, uint64_t line, bool is_store, uint64_t *written);

#endif
