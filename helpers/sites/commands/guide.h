/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `hybridmem sites guide`. */
#ifndef HM_SITES_COMMANDS_GUIDE_H
#define HM_SITES_COMMANDS_GUIDE_H

#include <limits.h>
#include <stdbool.h>

#include "alloc/layout.h"
#include "choice.h"

#define HM_SITES_GUIDE "hybridmem sites guide"

struct hm_sites_guide {
    struct hm_sites_choice choice; /* first, for its functions */
    const char *profile;           /* NULL: the newest of the program's build in the stores */
    const char *shared;            /* the folder of the shared store; NULL: that of the configuration */
    char found[PATH_MAX];          /* what was found in the stores */
    char **program;                /* with its arguments */
    bool has_nodes;
    struct hm_layout layout; /* of --nodes */
    bool any_build;
    bool takes_stale; /* also a profile of an older build */
    bool prints;      /* what the program would be told; it is not run */
};

/* Returns -1 to go on, or the exit status. */
int hm_sites_guide_parse(int argc, char **argv, struct hm_sites_guide *options);

#endif
