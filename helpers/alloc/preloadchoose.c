/* SPDX-License-Identifier: Apache-2.0 */
/* libhybridmem-preload.so: the rules of its environment send allocations to the slow tier. */
#include <dlfcn.h>
#include <pthread.h>

#include "next.h"
#include "preload.h"

const char hm_next_library[] = "libhybridmem-preload.so";

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct hm_preload_rules rules;

static void read_rules(void)
{
    hm_preload_read(&rules);
}

bool hm_preload_choose(size_t bytes, const void *caller, struct hm_preload_choice *choice)
{
    struct hm_preload_site site = {NULL, NULL, 0};
    Dl_info info;
    pthread_once(&once, read_rules);
    if (rules.n_callers > 0 && dladdr(caller, &info)) {
        site.function = info.dli_sname;
        site.module = info.dli_fname;
        site.offset = (uint64_t)((const char *)caller - (const char *)info.dli_fbase);
    }
    *choice = (struct hm_preload_choice){.policy = HM_ALLOC_SLOW};
    return hm_preload_is_slow(&rules, bytes, &site);
}

/* This library places nothing in the fast tier. */
void hm_preload_count(bool is_marked, size_t counted_bytes, size_t now_bytes)
{
    (void)is_marked;
    (void)counted_bytes;
    (void)now_bytes;
}
