/* SPDX-License-Identifier: Apache-2.0 */
/* The option's keys, as a table: which modes take each, how its value is read, and its range. Private to request*.c. */
#ifndef HM_CORE_REQUEST_KEYS_H
#define HM_CORE_REQUEST_KEYS_H

#include "request.h"

#define HM_KEYS_BIT(mode) (1u << (mode))
#define HM_KEY_SOCKET 0 /* its row: the one key of nearly all modes */

struct hm_key {
    const char *name;
    unsigned modes; /* that take it: HM_KEYS_BIT of each */
    /* Read the value into the request. Returns 0 or -1. */
    int (*set)(const struct hm_key *key, const char *value, struct hm_request *request);
    size_t offset;              /* of its field in the request */
    uint64_t least, most;       /* of numbers, sizes and times in ms; percentages: in hundredths */
    const char *const *choices; /* words, in the order of the enum from `least` on */
    const char *wants;          /* what would be right; NULL: it takes no value, and `set` gets "" */
    const char *example;
};

/* The n-th key, NULL past the last. */
const struct hm_key *hm_key_at(int n);

#endif
