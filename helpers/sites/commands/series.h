/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory each site has over the time of a recording, and how much of it is resident, as the recorder's looks
 * see it. */
#ifndef HM_SITES_COMMANDS_SERIES_H
#define HM_SITES_COMMANDS_SERIES_H

#include "sites/record/resident.h"
#include "sites/record/watch.h"

struct hm_series;

/* NULL: no memory. */
struct hm_series *hm_series_open(void);
/* Notes what each site has now, and a peak that it has reached since the last look. `seen`: what a look at page maps
 * has seen of each entry now; NULL: there was none. `series` may be NULL, here and below. */
void hm_series_look(struct hm_series *series, const struct hm_watch *watch, const struct hm_watch_seen *seen);
/* The same at the end of the program, whose page maps are gone. */
void hm_series_end(struct hm_series *series, const struct hm_watch *watch);
/* Gives the sites of the profile, which hm_watch_report has made, their series and what is resident of them; where no
 * look has seen that, it is not known. */
void hm_series_report(const struct hm_series *series, const struct hm_watch *watch, struct hm_profile *profile);
void hm_series_close(struct hm_series *series);

#endif
