/* SPDX-License-Identifier: Apache-2.0 */
/* PAPI's event sets, and the raw values read from them. PAPI wants one set for each component. */
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
 * Open the events that were found. They count from now on, except powercap's: the first reading starts their set.
 * Events that an earlier component has too are left out, as they would be counted twice. A component with an event that
 * cannot be opened is dropped with the reason, as the rest of its events would measure too little. With `all` (the user
 * named the events), no event is left out, and one that cannot be opened is an error. Fills in the modulus of
 * powercap's events. Returns 0, or -1 with a text. PAPI keeps what it has opened until the process ends.
 */
int hm_papi_sets_open(struct hm_papi_sets *sets, struct hm_papi_library *library, bool all, struct hm_error *error);

/* Read all events. `value` and `is_known` have HM_PAPI_MOST_EVENTS entries; those of library->found come first. */
void hm_papi_sets_read(struct hm_papi_sets *sets, struct hm_papi_library *library, uint64_t *value, bool *is_known);

#endif
