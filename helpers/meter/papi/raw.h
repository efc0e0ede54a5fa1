/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The raw values of PAPI's component powercap. What it gives of a counter that stands at v is, with s for what it was
 * when the event set was started and m for the range of the zones:
 *
 *     v          where s is 0, or v is s
 *     v - s      where v is above s
 *     v + m - s  where v is below s
 *
 * so that "nothing was counted" looks like a large count, and a second wrap is missed. Here s is found out, and v
 * reckoned from it. Where a file cannot be read, it gives the value that it read before instead; so each zone's range
 * is read right before its energy, and a counter that stands at its range is taken for one that could not be read.
 * Pure.
 */
#ifndef HM_METER_PAPI_RAW_H
#define HM_METER_PAPI_RAW_H

#include <stdbool.h>
#include <stdint.h>

/* No zone takes more: less than that times the time since the start may be v - s. In microjoules for a nanosecond. */
#define HM_PAPIRAW_MOST 20 /* 20 kW */

struct hm_papiraw {
    uint64_t range;      /* of this zone: its highest value */
    uint64_t used_range; /* m: PAPI takes that of the last zone of the same level for all */
    bool is_known;       /* start is known */
    uint64_t start;      /* s */
    uint64_t last;       /* the last v, */
    uint64_t last_ns;    /* read then */
};

enum hm_papiraw_state {
    HM_PAPIRAW_VALUE,      /* *value is v */
    HM_PAPIRAW_AMBIGUOUS,  /* start the event set anew, and begin again */
    HM_PAPIRAW_UNREADABLE, /* there is no value */
};

/* Begin with what was read at `now_ns`, `since_start_ns` or less after the event set was started. */
enum hm_papiraw_state hm_papiraw_begin(struct hm_papiraw *raw, uint64_t reading, uint64_t now_ns,
                                       uint64_t since_start_ns, uint64_t *value);

/* Take a later reading of the same start. What says v or v - s is told by how far the counter can have come since. */
enum hm_papiraw_state hm_papiraw_take(struct hm_papiraw *raw, uint64_t reading, uint64_t now_ns, uint64_t *value);

#endif
