/* SPDX-License-Identifier: Apache-2.0 */
/* Words that go with a number. Pure. */
#ifndef HM_BASE_PLURAL_H
#define HM_BASE_PLURAL_H

#include <stdint.h>

/* `one` where the number is 1, else `several`, as in printf("%zu %s", n, hm_plural(n, "site", "sites")). Verbs, too. */
static inline const char *hm_plural(uint64_t number, const char *one, const char *several)
{
    return number == 1 ? one : several;
}

#endif
