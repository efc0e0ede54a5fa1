/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of `hybridmem sites run`. */
#ifndef HM_SITES_COMMANDS_RUN_H
#define HM_SITES_COMMANDS_RUN_H

#include <stdint.h>

#include "sites/online/online.h"

#define HM_SITES_RUN "hybridmem sites run"

enum {
    HM_SITES_RUN_BAD = 2,
    HM_SITES_RUN_FAILED = 125,     /* there is no profile */
    HM_SITES_RUN_CANNOT_RUN = 126, /* as shells have it */
    HM_SITES_RUN_NOT_FOUND = 127,
};

struct hm_sites_run {
    const char *command;                  /* its name, for what it says */
    const char *output;                   /* NULL: no profile is left */
    const struct hm_online_setup *online; /* the program is guided; NULL: it is not */
    const char *input_class;              /* NULL: not said */
    const char *source;
    const char *broker; /* its socket; NULL: there is none */
    double overhead;    /* 0..1 */
    uint64_t period;    /* accesses per sample; 0: the source chooses */
    uint64_t least_bytes;
    char **program; /* with its arguments */
};

/* Returns -1 to go on, or the exit status. */
int hm_sites_run_parse(int argc, char **argv, struct hm_sites_run *options);
/* Prints the text. Returns `status`. */
int hm_sites_run_fail(const struct hm_sites_run *options, int status, const char *text);
/* Runs the program with these options. Returns the exit status. */
int hm_sites_run_program(const struct hm_sites_run *options);

#endif
