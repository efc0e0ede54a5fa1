/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions that allocate and free memory. */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "allocate.h"
#include "layout.h"

#define PUBLIC __attribute__((visibility("default")))

static _Thread_local char last_reason[HM_ALLOC_REASON];

/* Before anything that uses this library registers handlers of fork: those of the library then run last before a fork,
 * and so do not hold the lock while a thread waits for another one, under which memory may be allocated. */
__attribute__((constructor)) static void begin(void)
{
    pthread_atfork(hm_known_fork.before, hm_known_fork.after, hm_known_fork.in_child);
}

/* Check what the caller gave. Where something is wrong, `reason` says what. */
static bool is_right(enum hm_alloc_policy policy, const struct hm_alloc_hint *hint, char *reason)
{
    if (policy < HM_ALLOC_SPILL || policy > HM_ALLOC_INTERLEAVE)
        hm_reason_add(reason, "policy %d is not known: use HM_ALLOC_SPILL to HM_ALLOC_INTERLEAVE", (int)policy);
    if (hint->use != HM_ALLOC_READ_MOSTLY && hint->use != HM_ALLOC_WRITE_INTENSIVE)
        hm_reason_add(reason, "the hint's use %d is not known: use HM_ALLOC_READ_MOSTLY or HM_ALLOC_WRITE_INTENSIVE",
                      hint->use);
    if (!(hint->fast_share >= 0 && hint->fast_share <= 1))
        hm_reason_add(reason, "the hint's fast_share %g is out of range: write 0 to 1", hint->fast_share);
    if (hint->reserved != 0)
        hm_reason_add(reason, "the hint's reserved field is %d, not 0: start from a hint of zeros", hint->reserved);
    return reason[0] == '\0';
}

PUBLIC void *hm_alloc(size_t size, enum hm_alloc_policy policy, const struct hm_alloc_hint *hint)
{
    static const struct hm_alloc_hint none;
    last_reason[0] = '\0';
    if (!is_right(policy, hint ? hint : &none, last_reason)) {
        errno = EINVAL;
        return NULL;
    }
    if (size < HM_ALLOC_LEAST) {
        hm_reason_add(last_reason, "sizes below %d bytes are left to malloc", HM_ALLOC_LEAST);
        return calloc(1, size);
    }
    void *memory = hm_allocate(size, 1, policy, hint ? hint : &none, NULL, last_reason);
    if (memory)
        return memory;
    hm_reason_add(last_reason, "no mapping can be made for the allocation: malloc was asked instead");
    return calloc(1, size);
}

PUBLIC void hm_free(void *memory)
{
    int number = errno;
    if (memory && !hm_deallocate(memory, NULL))
        free(memory);
    errno = number;
}

PUBLIC const char *hm_alloc_reason(void)
{
    return last_reason;
}
