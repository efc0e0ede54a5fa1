/* SPDX-License-Identifier: Apache-2.0 */
/* The PAPI library: its components, and those of their events that hybridmem's table names. */
#ifndef HM_PAPI_LIBRARY_H
#define HM_PAPI_LIBRARY_H

#include <stdbool.h>

#include "meter/papi/line.h"
#include "meter/papi/raw.h"

#define HM_PAPI_MOST_COMPONENTS 64

struct hm_papi_component {
    char name[HM_PAPI_NAME];
    int index;                  /* PAPI's number; negative: this PAPI was built without it */
    bool is_in;                 /* it works, and was not dropped */
    char reason[HM_ERROR_TEXT]; /* why it does not work, or was dropped */
};

struct hm_papi_found {
    unsigned component; /* index in hm_papi_library.component */
    struct hm_papi_event event;
    char range[HM_PAPI_NAME]; /* for powercap: the event that gives the range of the zone's counter; "" otherwise */
    bool is_in_package;       /* the zone is within another one */
    struct hm_papiraw raw;    /* state of a zone's counter */
    unsigned column;          /* index among the values that PAPI reads for the component */
};

struct hm_papi_library {
    char version[32];
    int sysfs; /* the open folder /sys, or -1 */
    unsigned n_components, n_found;
    struct hm_papi_component
        component[HM_PAPI_MOST_COMPONENTS]; /* the table's components first, in its order, then PAPI's others */
    struct hm_papi_found found[HM_PAPI_MOST_EVENTS]; /* ordered by component, or as the user named them */
};

/* Start PAPI and look at its components. Call this once in a process. Returns 0, or -1 with a text. */
int hm_papi_library_open(struct hm_papi_library *library, struct hm_error *error);

/* Find the events that the table names, each register once (hm_counter_is_twin). A component that the table names is
 * dropped, with the reason, if it has none of its events here, or one that cannot be added. */
void hm_papi_library_find(struct hm_papi_library *library);

/* Add an event by PAPI's name. Its unit is 1 (a plain count) unless the table has a row for it that names no PMU.
 * Returns 0, or -1 with a text. */
int hm_papi_library_add(struct hm_papi_library *library, const char *name, struct hm_error *error);

/* Take a component out of use, with its events, and keep the reason. */
void hm_papi_library_drop(struct hm_papi_library *library, unsigned component, const char *reason);

/* Does the table name this component? */
bool hm_papi_is_wanted(const char *component);

#endif
