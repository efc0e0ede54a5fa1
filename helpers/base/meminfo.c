/* SPDX-License-Identifier: Apache-2.0 */
#include "meminfo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"

int hm_meminfo_parse(const char *text, const char *key, uint64_t *bytes)
{
    size_t length = strlen(key);
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key)) {
        if (at[length] != ':' || (at > text && !strchr(" \n", at[-1])))
            continue;
        const char *number = at + length + 1 + strspn(at + length + 1, " ");
        char *end;
        errno = 0;
        unsigned long long kib = strtoull(number, &end, 10);
        if (errno || strspn(number, "0123456789") == 0 || strncmp(end, " kB", 3) != 0 ||
            __builtin_mul_overflow(kib, UINT64_C(1024), bytes))
            break;
        return 0;
    }
    return hm_fail(NULL, EBADMSG, "no %s", key);
}
