/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the resources of a Redfish service say (DMTF's schema: DSP0266, and DSP0268 for Bios and Settings). jansson
 * parses the JSON. Each function takes one answer of `length` bytes. It returns 0, or -1 with a text: EBADMSG where the
 * answer is no JSON, or a property is missing, too long or not of its form: then nothing is assumed. Links are paths
 * below /redfish/v1/: an answer cannot send anybody to another service. Pure.
 */
#ifndef HM_MEMMODE_REDFISH_ANSWERS_H
#define HM_MEMMODE_REDFISH_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "memmode/decide/state.h"

#define HM_REDFISH_ROOT "/redfish/v1/"
#define HM_REDFISH_LINK 256 /* bytes of a path */
#define HM_REDFISH_ETAG 128
#define HM_REDFISH_SAID 200 /* bytes of what a service says of an error */

struct hm_redfish_system {
    char manufacturer[HM_MEMMODE_VALUE], model[HM_MEMMODE_VALUE]; /* "": not told */
    char bios[HM_REDFISH_LINK];
};

struct hm_redfish_bios {
    char value[HM_MEMMODE_VALUE]; /* the attribute's, now */
    char settings[HM_REDFISH_LINK];
    bool takes_on_reset; /* it wants to be told that a change is for the next boot */
};

struct hm_redfish_settings {
    char value[HM_MEMMODE_VALUE]; /* the attribute's, from the next boot on; "": nothing is pending for it */
    char etag[HM_REDFISH_ETAG];   /* "": not told */
};

/* The only member of the collection of systems. ENODEV: there are none, or several. */
int hm_redfish_read_systems(const char *text, size_t length, char link[HM_REDFISH_LINK], struct hm_error *error);

int hm_redfish_read_system(const char *text, size_t length, struct hm_redfish_system *system, struct hm_error *error);

/* The Bios resource. ENOENT: it has no such attribute. */
int hm_redfish_read_bios(const char *text, size_t length, const char *attribute, struct hm_redfish_bios *bios,
                         struct hm_error *error);

/* The SettingsObject of the Bios resource. Services show there all attributes, or only those that change. */
int hm_redfish_read_settings(const char *text, size_t length, const char *attribute,
                             struct hm_redfish_settings *settings, struct hm_error *error);

/* What the service says of an error, in one line; "" where it says nothing. Returns `said`. */
char *hm_redfish_read_error(const char *text, size_t length, char said[HM_REDFISH_SAID]);

/* The body of the PATCH that changes the attribute. Returns a text for the caller to free, or NULL (no memory). */
char *hm_redfish_write_change(const char *attribute, const char *value, bool on_reset);

/* Can this be a value of the attribute? Printable ASCII, as the configuration's are; not "". It is shown on terminals.
 */
bool hm_redfish_is_value(const char *value);

/* May this be sent as an ETag? Printable, without spaces; not "". */
bool hm_redfish_is_etag(const char *etag);

#endif
