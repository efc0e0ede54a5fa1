/* SPDX-License-Identifier: Apache-2.0 */
/* libhybridmem-preload.so: the rules of its environment send allocations to the slow tier. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>

#include "allocate.h"
#include "known.h"
#include "next.h"
#include "nextfork.h"
#include "preload.h"

const char hm_next_library[] = "libhybridmem-preload.so";

const struct hm_fork_handlers *const hm_fork_handlers[] = {&hm_known_fork, NULL};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hm_preload_rules rules;

static void read_rules(void)
{
    hm_fork_begin();
    hm_preload_read(&rules);
}

struct hm_preload_where hm_preload_where(size_t bytes, const void *caller)
{
    struct hm_preload_site site = {NULL, NULL, 0};
    Dl_info info;
    if (bytes < HM_ALLOC_LEAST)
        return (struct hm_preload_where){0};
    pthread_once(&once, read_rules);
    if (rules.n_callers > 0 && dladdr(caller, &info)) {
        site.function = info.dli_sname;
        site.module = info.dli_fname;
        site.offset = (uint64_t)((const char *)caller - (const char *)info.dli_fbase);
    }
    return (struct hm_preload_where){.tier = hm_preload_is_slow(&rules, bytes, &site)};
}

bool hm_preload_choose(size_t bytes, struct hm_preload_where where, struct hm_preload_choice *choice)
{
    (void)bytes;
    *choice = (struct hm_preload_choice){.policy = HM_ALLOC_SLOW, .spare_bytes = SIZE_MAX};
    return where.tier != 0;
}

/* Data does not move for a limit that it is somewhat below now. */
enum hm_preload_how hm_preload_resized(const struct hm_allocated *was, size_t bytes, struct hm_preload_where where)
{
    bool is_near = bytes <= was->bytes && bytes >= was->bytes / 2;
    return where.tier != 0 || is_near ? HM_PRELOAD_STAYS : HM_PRELOAD_MOVES;
}

/* This library places nothing in the fast tier. */
void hm_preload_count(bool is_marked, size_t counted_bytes, size_t now_bytes)
{
    (void)is_marked;
    (void)counted_bytes;
    (void)now_bytes;
}
