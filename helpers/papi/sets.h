/* SPDX-License-Identifier: Apache-2.0 */
/* PAPI's event sets: one for each component, as PAPI wants it, and the raw values that are read of them. */
#ifndef HM_PAPI_SETS_H
#define HM_PAPI_SETS_H

#include "library.h"

struct hm_papi_sets {
    int n;
    struct {
        int handle; /* PAPI's */
        unsigned component;
        bool is_powercap, is_running;
    } set[HM_PAPI_MOST_COMPONENTS];
};

/*
 * Open the events that were found, counting from now on. A component of which one cannot be opened is out, with the
 * reason: a part of it would measure too little; where `all` are wanted that is an error. What a component has that
 * one before it has, too, is left out but for that: it would be counted twice. Fills in the moduli.
 * Returns 0, or -1 with a text. PAPI keeps what it has opened until the process ends.
 */
int hm_papi_sets_open(struct hm_papi_sets *sets, struct hm_papi_library *library, bool all, struct hm_error *error);

/* Read them all. `value` and `is_known` are parallel to library->found. */
void hm_papi_sets_read(struct hm_papi_sets *sets, struct hm_papi_library *library, uint64_t *value, bool *is_known);

#endif
