/* SPDX-License-Identifier: Apache-2.0 */
/* What the parser of the option's text (request.c) and the checks after it (check.c) share. */
#ifndef HM_CORE_REQUEST_PARSING_H
#define HM_CORE_REQUEST_PARSING_H

#include "request.h"

/* How many characters of the user's text an error shows, so that there is room for what would be right. */
#define HM_PARSING_SHOWN 48

/* State while keys and values are parsed. */
struct hm_parsing {
    const char *start; /* error texts begin with this, then the text */
    const char *text;  /* the whole text */
    const char *form;  /* the right form, for errors */
    unsigned seen;     /* bit n: the key hm_key_at(n) was given */
    struct hm_request *request;
    struct hm_error *error;
};

/* Do the keys that were given fit the mode and each other, and are those there that it needs? Returns 0, or -1 (EINVAL)
 * with what would be right. Pure. */
int hm_parsing_check(const struct hm_parsing *p);

#endif
