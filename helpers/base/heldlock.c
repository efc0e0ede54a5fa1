/* SPDX-License-Identifier: Apache-2.0 */
#include "heldlock.h"

#include <errno.h>

static _Thread_local unsigned held;

void hm_heldlock_enter(void)
{
    held++;
}

void hm_heldlock_leave(void)
{
    held--;
}

int hm_heldlock_check(const char *what, struct hm_error *error)
{
    return held == 0 ? 0 : hm_fail(error, EDEADLK, "%s is not started while a lock is held that jobs wait for", what);
}
