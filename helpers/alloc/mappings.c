/* SPDX-License-Identifier: Apache-2.0 */
#include "mappings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "kernel.h"

#define USUAL 65530 /* DEFAULT_MAX_MAP_COUNT, used where the kernel does not tell its limit */
/* The largest limit that is used; a larger limit of the kernel counts as this one. A site raises its limit for other
 * programs, and each mapping costs the kernel some 200 bytes. */
#define MOST ((uint64_t)1 << 20)

static pthread_once_t once = PTHREAD_ONCE_INIT;
static size_t limit; /* mappings that this process may have, those of other code included */
static atomic_size_t used;

static void look(void)
{
    uint64_t n;
    if (hm_kernel_most_mappings(&n) < 0)
        n = USUAL;
    limit = (size_t)(n < MOST ? n : MOST);
}

static bool take(size_t n, size_t eighths)
{
    pthread_once(&once, look);
    if (atomic_fetch_add(&used, n) + n <= limit / 8 * eighths)
        return true;
    atomic_fetch_sub(&used, n);
    return false;
}

bool hm_mappings_take(size_t n)
{
    return take(n, 3);
}

bool hm_mappings_take_for_blocks(size_t n)
{
    return take(n, 2);
}

void hm_mappings_give(size_t n)
{
    atomic_fetch_sub(&used, n);
}
