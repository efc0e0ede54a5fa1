/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches the monitoring groups in a control group of resctrl. The kernel adds their counters to those of the control
 * group, so a group that is removed takes everything it ever counted out of the sum. A difference of two sums over such
 * a moment is wrong, even where the sum has not become smaller.
 */
#ifndef HM_METER_COUNT_GROUPWATCH_H
#define HM_METER_COUNT_GROUPWATCH_H

#include <stdbool.h>

#include "base/error.h"

struct hm_groupwatch {
    bool is_on;          /* false: there is nothing to watch, and `fd` is unused */
    int fd;              /* inotify descriptor */
    bool was_in_reading; /* a group came or went during the last reading */
};

/* Watch the groups below `folder`, the open folder of a control group. It may also be that of a monitoring group, which
 * has no groups below it: then nothing is watched. Returns 0, or -1 with a text. */
int hm_groupwatch_open(struct hm_groupwatch *watch, int folder, struct hm_error *error);

/* Has a group come or gone since the last call? */
bool hm_groupwatch_has_news(const struct hm_groupwatch *watch);

/* Call hm_groupwatch_has_news before the counters are read, and give its result to this function after they were read.
 * Returns whether groups came or went since the last reading began. */
bool hm_groupwatch_end_reading(struct hm_groupwatch *watch, bool had_news_before);

void hm_groupwatch_close(struct hm_groupwatch *watch);

#endif
