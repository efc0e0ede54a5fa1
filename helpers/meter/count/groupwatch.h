/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitoring groups of a control group of resctrl. The kernel adds their counters to the control group's own, so
 * that one of them that goes takes all that it ever counted out of the sum: over such a moment a difference of two sums
 * is nobody's traffic, whether it went back or not.
 */
#ifndef HM_METER_COUNT_GROUPWATCH_H
#define HM_METER_COUNT_GROUPWATCH_H

#include <stdbool.h>

#include "base/error.h"

struct hm_groupwatch {
    bool is_on;          /* false: there is nothing to watch, and no `fd` */
    int fd;              /* inotify */
    bool was_in_reading; /* a group came or went while the counters were read last */
};

/* Watch the groups below `folder`, an open folder of a group. A monitoring group has none: then nothing is watched.
 * Returns 0, or -1 with a text. */
int hm_groupwatch_open(struct hm_groupwatch *watch, int folder, struct hm_error *error);

/* Has a group come or gone since this was last asked? */
bool hm_groupwatch_has_news(const struct hm_groupwatch *watch);

/* The same in two: ask before the counters are read, and behind that. Returns whether the set of groups was another at
 * some moment between the two readings. */
bool hm_groupwatch_end_reading(struct hm_groupwatch *watch, bool had_news_before);

void hm_groupwatch_close(struct hm_groupwatch *watch);

#endif
