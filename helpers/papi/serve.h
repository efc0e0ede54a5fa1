/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-papi --read: the lines of meter/papi/line.h on standard output, until somebody ends it. */
#ifndef HM_PAPI_SERVE_H
#define HM_PAPI_SERVE_H

#include "library.h"

struct hm_papi_serving {
    bool is_asked;        /* a reading for each line of standard input; else by the clock */
    uint64_t interval_ms; /* by the clock */
    uint64_t count;       /* readings; 0: no end */
    bool is_named;        /* the events were named one by one: each has to work */
};

/* Block the signals that end it, before anything is started. Returns a descriptor to poll, or -1. */
int hm_papi_take_signals(void);

/*
 * Open the events and write their lines and readings. `signals` is the descriptor of hm_papi_take_signals. Returns 0
 * once it was told to end, or nobody reads or asks any more; or -1 with a text.
 */
int hm_papi_serve(const struct hm_papi_serving *serving, struct hm_papi_library *library, int signals,
                  struct hm_error *error);

#endif
