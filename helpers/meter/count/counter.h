/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of a hardware counter's raw values. Raw values are never shown: alone they mean nothing, and they wrap.
 * Where a difference cannot be known, a named state says so, never a number. Pure. */
#ifndef HM_METER_COUNT_COUNTER_H
#define HM_METER_COUNT_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

enum hm_counter_state {
    HM_COUNTER_VALID,      /* the difference is known */
    HM_COUNTER_FIRST,      /* the first value since the counter can be read; there is none before it to subtract */
    HM_COUNTER_VANISHED,   /* the counter is not there, or not any more */
    HM_COUNTER_FORBIDDEN,  /* the counter may not be read, or not any more */
    HM_COUNTER_TAKEN,      /* somebody else uses the hardware counter at the moment */
    HM_COUNTER_UNREADABLE, /* what was read is not a valid value, or reading failed with any other errno */
    HM_COUNTER_RESET,      /* the value went back without a wrap, or grew more than it can in the time */
    HM_COUNTER_REGROUPED,  /* the counter is a sum, and its parts changed between the readings */
    HM_COUNTER_AMBIGUOUS,  /* nobody can tell how often the counter wrapped since the last value */
};

struct hm_counter {
    uint64_t modulus;  /* raw values are below this; 0 means 2^64 */
    double most_per_s; /* most that it can count in a second; 0: unknown. Then a value that went back counts as one
                          wrap, if there is a modulus */
    bool has_last;
    uint64_t last, last_ns;
};

/*
 * Take a raw value that was read at `now_ns` (CLOCK_MONOTONIC). *difference becomes what was counted since the last
 * value, or 0 for any state but HM_COUNTER_VALID. A counter of 2^64 does not wrap: a step back is a reset. In any state
 * but HM_COUNTER_UNREADABLE this value becomes the one to subtract next time.
 */
enum hm_counter_state hm_counter_take(struct hm_counter *counter, uint64_t raw, uint64_t now_ns, uint64_t *difference);

/* Note that the counter could not be read, with the errno `number`. The next value will have the state
 * HM_COUNTER_FIRST. Returns the present state. */
enum hm_counter_state hm_counter_lose(struct hm_counter *counter, int number);

/* The state as a text for people: "it may not be read any more". */
const char *hm_counter_state_text(enum hm_counter_state state);

#endif
