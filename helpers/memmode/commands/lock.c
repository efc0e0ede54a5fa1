/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the lock of namespaces, for whatever looks at them, changes what is pending, or answers the note. */
#include <errno.h>

#include "namespace/pmem/lock.h"
#include "parts.h"

#define LOCK_PATIENCE_S 60

int hm_memmode_lock(const struct hm_config *config, int *lock, struct hm_error *error)
{
    uint64_t since_ns = 0;
    *lock = hm_lock_take(config, &since_ns, LOCK_PATIENCE_S, error);
    if (*lock >= 0)
        return HM_MEMMODE_EXIT_DONE;
    return errno == EBUSY ? HM_MEMMODE_EXIT_BUSY : HM_MEMMODE_EXIT_REFUSED;
}
