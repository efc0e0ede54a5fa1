/* SPDX-License-Identifier: Apache-2.0 */
/* Can the allocations of a program be seen or guided? What run, record and guide ask before they start it. */
#ifndef HM_SITES_COMMANDS_FIT_H
#define HM_SITES_COMMANDS_FIT_H

#include <stdbool.h>

#include "base/preloadable.h"
#include "sites/profile/buildid.h"

struct hm_sites_fit {
    bool is_elf;                    /* else it may be a script, and start programs */
    char build_id[HM_BUILDID_TEXT]; /* "": it has none */
    enum hm_preloadable preloadable;
    char why[HM_PRELOADABLE_WHY]; /* not; to be said behind the program's name. "": they can */
};

/* `needs_build_id`: a program without a build-id does not fit. */
void hm_sites_fit(const char *path, bool needs_build_id, struct hm_sites_fit *fit);

#endif
