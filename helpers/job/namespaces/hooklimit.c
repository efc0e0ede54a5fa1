/* SPDX-License-Identifier: Apache-2.0 */
#include "hooklimit.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/size.h"

#define LINE "limit: "
#define SPARE_S (HM_HOOKLIMIT_FIRST_S - HM_HOOKLIMIT_OWN_S)
#define DAY_S 86400 /* how long hybridmem-namespace may work where fsdax_wipe_limit is not set */
/* Time for work when fsdax_wipe_limit is over: create waits for 10 s, and then wipes for 30 s what it made (create.c);
 * detaching takes 12 s; making folders of jobs takes 11 s, and removing them 6 s for the job and 6 s for a reap
 * (daxfolders.c); systemctl takes 21 s. The rest is for the starts of programs. */
#define BEYOND_S 120
#define AHEAD_S 5         /* Slurm's clock for its prologs and epilogs begins before ours */
#define SLOW_MEMORY_S 610 /* bringing slow memory online waits for 600 s */

static int64_t begin_ms;

/* Time for the work that fsdax_wipe_limit does not limit. */
static unsigned beside_s(const struct hm_config *config)
{
    return HM_HOOKLIMIT_FIRST_S + BEYOND_S + (config->ram != HM_SLOW_RAM_NONE ? SLOW_MEMORY_S : 0);
}

unsigned hm_hooklimit_most_s(const struct hm_config *config)
{
    if (config->fsdax_wipe_limit_s == 0)
        return HM_HOOKLIMIT_FIRST_S + DAY_S;
    return config->fsdax_wipe_limit_s + beside_s(config);
}

unsigned hm_hooklimit_margin_s(const struct hm_config *config)
{
    return beside_s(config) + HM_HOOKLIMIT_FIRST_S + AHEAD_S;
}

static void tell(unsigned limit_s)
{
    fprintf(stderr, LINE "%u\n", limit_s);
}

void hm_hooklimit_begin(void)
{
    begin_ms = hm_clock_ms(CLOCK_MONOTONIC);
    alarm(HM_HOOKLIMIT_OWN_S);
}

unsigned hm_hooklimit_pause(const struct hm_config *config)
{
    unsigned left_s = alarm(0), most_s = hm_hooklimit_most_s(config);
    int64_t used_s = (hm_clock_ms(CLOCK_MONOTONIC) - begin_ms) / 1000;
    if (left_s > 0)
        tell(used_s + SPARE_S < most_s ? most_s - (unsigned)used_s : SPARE_S);
    return left_s;
}

void hm_hooklimit_resume(unsigned left_s)
{
    int number = errno;
    if (left_s > 0)
        tell(left_s + SPARE_S);
    alarm(left_s);
    errno = number;
}

bool hm_hooklimit_parse(const char *line, unsigned *limit_s)
{
    uint64_t number;
    if (strncmp(line, LINE, strlen(LINE)) != 0 ||
        hm_size_parse_number(line + strlen(LINE), 1, UINT64_C(2) * DAY_S, &number, NULL) != 0)
        return false;
    *limit_s = (unsigned)number;
    return true;
}
