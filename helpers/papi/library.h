/* SPDX-License-Identifier: Apache-2.0 */
/* PAPI: its components, and the events of them that the table names. */
#ifndef HM_PAPI_LIBRARY_H
#define HM_PAPI_LIBRARY_H

#include <stdbool.h>

#include "meter/papi/line.h"
#include "meter/papi/raw.h"

#define HM_PAPI_MOST_COMPONENTS 64

struct hm_papi_component {
    char name[HM_PAPI_NAME];
    int index; /* PAPI's; -1: this PAPI was built without it */
    bool is_in;
    char reason[HM_ERROR_TEXT]; /* why not */
};

struct hm_papi_found {
    unsigned component; /* its place in the library */
    struct hm_papi_event event;
    char range[HM_PAPI_NAME]; /* the event of its zone's range, of powercap; "" otherwise */
    bool is_in_package;       /* a zone within another */
    struct hm_papiraw raw;    /* of such an event */
    unsigned column;          /* in what is read of its component */
};

struct hm_papi_library {
    char version[32];
    unsigned n_components, n_found;
    struct hm_papi_component
        component[HM_PAPI_MOST_COMPONENTS];          /* those of the table first, in its order; then PAPI's others */
    struct hm_papi_found found[HM_PAPI_MOST_EVENTS]; /* in the components' order */
};

/* Start PAPI, once in a process, and look at its components. Returns 0, or -1 with a text. */
int hm_papi_library_open(struct hm_papi_library *library, struct hm_error *error);

/* Find the events of the table. Components whose events cannot be used are out then, with the reason. */
void hm_papi_library_find(struct hm_papi_library *library);

/* Add an event by its name, which PAPI has to know. It counts ones. Returns 0, or -1 with a text. */
int hm_papi_library_add(struct hm_papi_library *library, const char *name, struct hm_error *error);

/* Make a component out, with its events. */
void hm_papi_library_drop(struct hm_papi_library *library, unsigned component, const char *reason);

/* Does the table name it? */
bool hm_papi_is_wanted(const char *component);

#endif
