/* SPDX-License-Identifier: Apache-2.0 */
/* The option's keys, as a table: its group, which a mode takes or not, how its value is read, and its range. */
#ifndef HM_CORE_REQUEST_KEYS_H
#define HM_CORE_REQUEST_KEYS_H

#include "request.h"

#define HM_KEY_SOCKET 0 /* its row: the one key of nearly all modes */

struct hm_key {
    const char *name;
    unsigned group; /* HM_KEYS_..., one: the modes that take it say so in their rows */
    /* Read the value into the request. Returns 0 or -1. */
    int (*set)(const struct hm_key *key, const char *value, struct hm_request *request);
    size_t offset;              /* of its field in the request */
    uint64_t least, most;       /* of numbers, sizes and times in ms; percentages: in hundredths */
    const char *const *choices; /* words, in the order of the enum from `least` on */
    const char *wants;          /* what would be right; NULL: it takes no value, and `set` gets "" */
    const char *example;
    bool is_needed;    /* a mode that takes the key is nothing without it */
    const char *about; /* for help texts: one clause */
};

/* The n-th key, NULL past the last. */
const struct hm_key *hm_key_at(int n);

#endif
