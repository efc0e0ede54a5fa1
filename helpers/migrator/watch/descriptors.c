/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/amount.h"

void hm_descriptors_raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

bool hm_descriptors_may_keep(int fd)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    /* The kernel gives the lowest number that is free. */
    if ((rlim_t)fd < limit.rlim_cur - hm_least(HM_DESCRIPTORS_FREE, limit.rlim_cur / 2))
        return true;
    errno = EMFILE;
    return false;
}
