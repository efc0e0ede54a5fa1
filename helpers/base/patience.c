/* SPDX-License-Identifier: Apache-2.0 */
#include "patience.h"

#include <time.h>

#define PAUSE_NS 100000000L
#define PAUSES_PER_S 10

bool hm_patience_pause(unsigned *pauses, unsigned patience_s)
{
    if (*pauses >= patience_s * PAUSES_PER_S)
        return false;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    ++*pauses;
    return true;
}

unsigned hm_patience_s(unsigned pauses)
{
    return pauses / PAUSES_PER_S;
}
