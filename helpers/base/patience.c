/* SPDX-License-Identifier: Apache-2.0 */
#include "patience.h"

#include <time.h>

#include "clock.h"

#define PAUSE_NS 100000000L
#define SECOND_NS UINT64_C(1000000000)

bool hm_patience_pause(uint64_t *since_ns, unsigned patience_s)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    if (*since_ns == 0)
        *since_ns = now;
    if (now - *since_ns >= patience_s * SECOND_NS)
        return false;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return true;
}
