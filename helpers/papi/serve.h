/* SPDX-License-Identifier: Apache-2.0 */
/* Runs hybridmem-papi --read: writes the lines described in meter/papi/line.h on standard output until it is told to
 * end. */
#ifndef HM_PAPI_SERVE_H
#define HM_PAPI_SERVE_H

#include "library.h"

struct hm_papi_serving {
    bool is_asked;        /* read once for each line of standard input; else by the clock */
    uint64_t interval_ms; /* time between two readings by the clock */
    uint64_t count;       /* number of readings; 0: no limit */
    bool is_named;        /* the user named the events one by one: each must work */
};

/* Block the signals that end the program; call this before anything is started. Returns a descriptor to poll for them,
 * or -1. */
int hm_papi_take_signals(void);

/*
 * Open the events and write their lines and readings. `signals` is the descriptor from hm_papi_take_signals. Returns 0
 * after `count` readings, after a signal, when standard input has ended or cannot be read (without is_asked: only if it
 * is a pipe or a socket), or when nobody reads the output any more. Returns -1 with a text on another error.
 */
int hm_papi_serve(const struct hm_papi_serving *serving, struct hm_papi_library *library, int signals,
                  struct hm_error *error);

#endif
