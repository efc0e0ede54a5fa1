/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the values of hybridmem-migrator's options, one function for each kind of value. An option's row in the table
 * (options.c) gives its range and its field. */
#ifndef HM_MIGRATOR_LIVE_OPTIONVALUE_H
#define HM_MIGRATOR_LIVE_OPTIONVALUE_H

#include "options.h"

struct hm_option;

/*
 * Reads `value` into the row's field of `options`. Texts still belong to the caller. Returns 0, or -1 (EINVAL, ERANGE)
 * with a text that says what is wrong.
 */
typedef int hm_option_take(const struct hm_option *row, struct hm_options *options, const char *value,
                           struct hm_error *error);

struct hm_option {
    const char *name, *value, *about; /* for the help text: "--NAME", what stands for its value, and what it does */
    hm_option_take *take;
    size_t offset;        /* offset of the field in hm_options, if it has a field of its own */
    uint64_t least, most; /* range of a number, a latency (relative), or an interval (ms) */
};

/* Kinds that several options have. The field's type is in brackets. */
hm_option_take hm_option_text;    /* any text (const char *) */
hm_option_take hm_option_number;  /* a number (64 bits) */
hm_option_take hm_option_small;   /* a number (32 bits) */
hm_option_take hm_option_size;    /* a size in bytes (uint64_t) */
hm_option_take hm_option_nodes;   /* a list of NUMA nodes (struct hm_set) */
hm_option_take hm_option_latency; /* a latency relative to the fast tier's (double) */

/* Kinds of one option each, which know its fields. */
hm_option_take hm_option_pid, hm_option_step, hm_option_cap, hm_option_algorithm, hm_option_hot_by, hm_option_source,
    hm_option_interval, hm_option_overhead, hm_option_middle_tier;

#endif
