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
    const char *input;             /* without a profile: the kind of input that goes first; NULL: any is as good.
                                    * Online: that of the profile that is left; NULL: not said */
    const char *shared;            /* the folder of the shared store; NULL: that of the configuration */
    char found[PATH_MAX];          /* what was found in the stores */
    char **program;                /* with its arguments */
    bool has_nodes;
    struct hm_layout layout; /* of --nodes */
    bool any_build;
    bool takes_stale;   /* also a profile of an older build */
    bool is_online;     /* sites are learned while the program runs; there is no profile to read */
    const char *output; /* with that, a profile to write; NULL: none */
    bool has_overhead;
    double overhead; /* with that, 0..1 */
    bool prints;     /* what the program would be told; it is not run */
};

/* Returns -1 to go on, or the exit status. */
int hm_sites_guide_parse(int argc, char **argv, struct hm_sites_guide *options);

/* Parses the tiers' nodes, as in "fast=0,1 slow=2,3". Returns 0, or -1 with a text. */
int hm_sites_take_nodes(const char *text, struct hm_layout *layout, struct hm_error *error);
/* Finds both tiers' nodes, of --nodes or of this machine. Returns 0, or -1 with a text. */
int hm_sites_guide_nodes(struct hm_sites_guide *options, struct hm_error *error);

#endif
