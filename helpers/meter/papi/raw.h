/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reconstructs the raw counters from the values of PAPI's component powercap. A counter stands at v; it stood at s when
 * the event set was started; and m is the range of the zones. Then PAPI gives
 *
 *     v          where s is 0, or v is s
 *     v - s      where v is above s
 *     v + m - s  where v is below s
 *
 * So "nothing was counted" looks like a large count, and a second wrap is missed. This code finds out s, and computes v
 * from it. Where PAPI cannot read a file, it returns the value of the file that it read just before. Therefore each
 * zone's range is read right before its energy, and a counter that stands at its range counts as one that could not be
 * read. Pure.
 */
#ifndef HM_METER_PAPI_RAW_H
#define HM_METER_PAPI_RAW_H

#include <stdbool.h>
#include <stdint.h>

/* The most power of any zone, in microjoules per nanosecond. v - s cannot be larger than this, times the time since the
 * start. */
#define HM_PAPIRAW_MOST 20 /* 20 kW */

struct hm_papiraw {
    uint64_t range;      /* the zone's range: its highest value */
    uint64_t used_range; /* m: PAPI uses the range of the last zone of a level for all zones of that level */
    bool is_known;       /* `start` is known */
    uint64_t start;      /* s */
    uint64_t last;       /* the last v */
    uint64_t last_ns;    /* when it was read */
};

enum hm_papiraw_state {
    HM_PAPIRAW_VALUE,      /* *value is v */
    HM_PAPIRAW_AMBIGUOUS,  /* start the event set again, and call hm_papiraw_begin */
    HM_PAPIRAW_UNREADABLE, /* there is no value */
};

/* Begin with a value read at `now_ns`, at most `since_start_ns` after the event set was started. */
enum hm_papiraw_state hm_papiraw_begin(struct hm_papiraw *raw, uint64_t reading, uint64_t now_ns,
                                       uint64_t since_start_ns, uint64_t *value);

/*
 * Take a later reading after the same start. A reading that equals s may be v, v - s or v + m - s: how far the counter
 * can have come since the last value tells which.
 */
enum hm_papiraw_state hm_papiraw_take(struct hm_papiraw *raw, uint64_t reading, uint64_t now_ns, uint64_t *value);

#endif
