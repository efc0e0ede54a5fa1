/* SPDX-License-Identifier: Apache-2.0 */
#include "hurry.h"

#include <errno.h>

#include "aside.h"
#include "base/memready.h"
#include "urgent.h"

void hm_hurry_begin(void)
{
    hm_aside_begin();
    hm_memready_begin();
    hm_urgent_begin(); /* last, as the kernel may not let a real-time thread change its cgroup */
}

void hm_hurry_end(void)
{
    int number = errno;
    hm_urgent_end();
    hm_memready_end();
    hm_aside_end();
    errno = number;
}
