/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses how sysfs describes the events of a PMU (/sys/bus/event_source/devices/PMU). events/NAME has terms,
 * "event=0x04,umask=0x03". format/TERM says to which bits of perf_event_attr a term's value goes, "config:0-7,32". Each
 * parser takes the whole text of a file, without its newline. Pure.
 */
#ifndef HM_BASE_PMU_H
#define HM_BASE_PMU_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#define HM_PMU_WORDS 4   /* config, config1, config2, config3 */
#define HM_PMU_RANGES 16 /* most ranges of bits in one format */
#define HM_PMU_TEXT 256  /* longer than any kernel's format or event */

struct hm_pmu_config {
    uint64_t word[HM_PMU_WORDS];
};

/* The bits of perf_event_attr that a term's value goes to. The first range gets the lowest bits of the value. */
struct hm_pmu_format {
    unsigned word; /* index in word[] of struct hm_pmu_config */
    unsigned n_ranges;
    struct {
        unsigned char first, last;
    } range[HM_PMU_RANGES];
};

/* Parse "config:0-7,32" or "config1:4". Returns 0, or -1 (EINVAL). */
int hm_pmu_parse_format(const char *text, struct hm_pmu_format *format, struct hm_error *error);

/* Put a value into the format's bits. Returns 0, or -1 (ERANGE) where it has more bits than the format. */
int hm_pmu_put(struct hm_pmu_config *config, const struct hm_pmu_format *format, uint64_t value,
               struct hm_error *error);

/* Gets the text of format/TERM, at most HM_PMU_TEXT bytes with the end mark. Returns 0, or -1 where there is none. */
typedef int hm_pmu_look_up(void *data, const char *term, char *text);

/* Parse the terms of an event, "event=0x04,umask=0x03". A term without a value has the value 1. Returns 0, or -1
 * (EINVAL, ERANGE) with a text that names the term, or the event where one of its terms is too long. */
int hm_pmu_parse_event(const char *text, hm_pmu_look_up *look_up, void *data, struct hm_pmu_config *config,
                       struct hm_error *error);

/* Parse events/NAME.scale: a decimal number above 0. Returns 0, or -1 (EINVAL). */
int hm_pmu_parse_scale(const char *text, double *scale, struct hm_error *error);

#endif
