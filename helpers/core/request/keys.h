/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the option's keys: the group of each key (modes accept groups), how its value is read, and its range. */
#ifndef HM_CORE_REQUEST_KEYS_H
#define HM_CORE_REQUEST_KEYS_H

#include "request.h"

#define HM_KEY_SOCKET 0 /* row of the key `socket`, which nearly all modes take */

struct hm_key {
    const char *name;
    unsigned group; /* one of HM_KEYS_...; a mode's row says which groups the mode takes */
    /* Read the value into the request. Returns 0 or -1. */
    int (*set)(const struct hm_key *key, const char *value, struct hm_request *request);
    size_t offset;              /* offset of its field in the request */
    uint64_t least, most;       /* range of numbers, sizes and times in ms; of percentages in hundredths */
    const char *const *choices; /* words of an enum, the first for the value `least` */
    const char *wants;          /* what a right value is, for errors; NULL: the key takes no value, and `set` gets "" */
    const char *example;        /* a right use, for errors */
    bool is_needed;             /* every mode that takes the key needs it */
    const char *about;          /* for help texts: one clause */
};

/* The words of the enums of request.h, in their order; NULL ends them. In all but the first, "unsaid" stands for a
 * key that is not given; users cannot type it. */
extern const char *const hm_socket_words[],
    *const hm_algorithm_words[], *const hm_hot_by_words[], *const hm_method_words[], *const hm_fallback_words[],
                                                                                         *const hm_stale_words[];

/* The n-th key, NULL past the last. */
const struct hm_key *hm_key_at(int n);

#endif
