/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences of a hardware counter's raw values. A raw value is never shown: what it was at some moment says nothing,
 * and it wraps. Where no difference can be told there is a state with a name instead, never a number. Pure.
 */
#ifndef HM_METER_COUNT_COUNTER_H
#define HM_METER_COUNT_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

enum hm_counter_state {
    HM_COUNTER_VALID,      /* there is a difference */
    HM_COUNTER_FIRST,      /* the first value since it can be read: there is none before it */
    HM_COUNTER_VANISHED,   /* it is not there (any more) */
    HM_COUNTER_FORBIDDEN,  /* it may not be read (any more) */
    HM_COUNTER_TAKEN,      /* somebody else has the hardware for now */
    HM_COUNTER_UNREADABLE, /* what was read is no value of it */
    HM_COUNTER_RESET,      /* it went back without a wrap, or further than it can count in the time */
    HM_COUNTER_REGROUPED,  /* it is a sum, and what is summed was not the same all the time */
    HM_COUNTER_AMBIGUOUS,  /* the time since the last value is enough for more than one wrap */
};

struct hm_counter {
    uint64_t modulus;  /* raw values are below it; 0 stands for 2^64 */
    double most_per_s; /* it counts no more than that in a second; 0: not known, and a step back is a wrap */
    bool has_last;
    uint64_t last, last_ns;
};

/*
 * Take the raw value that was read at `now_ns` (CLOCK_MONOTONIC). *difference is what was counted since the value
 * before, and 0 unless HM_COUNTER_VALID is returned. A counter of 2^64 does not wrap: a step back is a reset. After any
 * other state than HM_COUNTER_UNREADABLE the value is the one to subtract from next.
 */
enum hm_counter_state hm_counter_take(struct hm_counter *counter, uint64_t raw, uint64_t now_ns, uint64_t *difference);

/* It could not be read, with this errno: what it counts next has no beginning. Returns the state. */
enum hm_counter_state hm_counter_lose(struct hm_counter *counter, int number);

/* What the state means, for people: "it may not be read any more". */
const char *hm_counter_state_text(enum hm_counter_state state);

#endif
