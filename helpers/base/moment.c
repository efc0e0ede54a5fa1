/* SPDX-License-Identifier: Apache-2.0 */
#include "moment.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "error.h"

#define YEAR_10000 INT64_C(253402300800)

char *hm_moment_format(int64_t seconds, char out[HM_MOMENT])
{
    struct tm utc;
    time_t moment = (time_t)seconds;
    if (seconds < 0 || seconds >= YEAR_10000 || !gmtime_r(&moment, &utc) ||
        strftime(out, HM_MOMENT, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        out[0] = '\0';
    return out;
}

int hm_moment_parse(const char *text, int64_t *seconds)
{
    char again[HM_MOMENT];
    struct tm utc = {0};
    const char *end = strptime(text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    *seconds = end && *end == '\0' ? (int64_t)timegm(&utc) : -1;
    /* Accept only what hm_moment_format writes: strptime accepts fewer digits, and timegm days that a month does not
     * have. */
    return strcmp(hm_moment_format(*seconds, again), text) == 0 && text[0]
               ? 0
               : hm_fail(NULL, EINVAL, "\"%.40s\" is no moment", text);
}
