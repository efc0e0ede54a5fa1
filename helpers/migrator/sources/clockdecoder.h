/* SPDX-License-Identifier: Apache-2.0 */
/* Starts hybridmem-decode, and asks it for routes, of several pieces of code at once: a change of the process is
 * dear. */
#ifndef HM_MIGRATOR_SOURCES_CLOCKDECODER_H
#define HM_MIGRATOR_SOURCES_CLOCKDECODER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "migrator/perf/route.h"

struct hm_clock_decoder {
    pid_t pid;
    int fd;            /* -1: it has ended, or was never started */
    int stop;          /* descriptor that is readable once this process is told to end; -1: none */
    bool has_answered; /* once at least */
};

/* Starts the program, and asks it for a first route. No answer is waited for once `stop` is readable. Returns 0, or -1
 * with a text. */
int hm_clock_decoder_start(struct hm_clock_decoder *decoder, int stop, struct hm_error *error);
/*
 * Asks for the routes in `n` pieces of code, HM_ROUTE_BATCH at most. Where the program does not answer soundly, or not
 * within two seconds (the first time, ten), or this process is told to end, it is ended: no more routes are known.
 * Returns 0, or -1.
 */
int hm_clock_decoder_ask(struct hm_clock_decoder *decoder, const struct hm_route_code *code, size_t n,
                         struct hm_route *route);
/* Ends the program and waits for it. */
void hm_clock_decoder_stop(struct hm_clock_decoder *decoder);

#endif
