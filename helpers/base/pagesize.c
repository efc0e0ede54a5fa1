/* SPDX-License-Identifier: Apache-2.0 */
#include "pagesize.h"

#include <unistd.h>

unsigned hm_page_shift(void)
{
    static unsigned shift; /* threads may set it at the same time, all to the same number */
    unsigned known = __atomic_load_n(&shift, __ATOMIC_RELAXED);
    if (known == 0) {
        known = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
        __atomic_store_n(&shift, known, __ATOMIC_RELAXED);
    }
    return known;
}
