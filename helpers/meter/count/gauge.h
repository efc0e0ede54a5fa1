/* SPDX-License-Identifier: Apache-2.0 */
/* Gauges: the open counters of a node. A gauge is one counter (a perf event, an event of a helper program, or a file
 * that holds a number), and what it has counted since its total was last cleared. */
#ifndef HM_METER_COUNT_GAUGE_H
#define HM_METER_COUNT_GAUGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/pmu.h"
#include "core/topology/topology.h"
#include "counter.h"
#include "groupwatch.h"
#include "meter/papi/read.h"
#include "total.h"

/* The quantities that are counted. */
enum hm_quantity {
    HM_PACKAGE_ENERGY,  /* a socket's processor */
    HM_MEMORY_ENERGY,   /* the DRAM of a socket */
    HM_PLATFORM_ENERGY, /* the whole node */
    HM_READ_BYTES,
    HM_WRITE_BYTES,
    HM_TOTAL_BYTES, /* reads and writes of all tiers together */
    HM_LOCAL_BYTES, /* the part of HM_TOTAL_BYTES that goes to memory of the processor's own socket */
    HM_N_QUANTITIES
};

struct hm_gauge {
    enum hm_quantity quantity;
    enum hm_kind kind; /* for bytes: the kind of memory; else HM_KIND_UNKNOWN */
    int socket;        /* -1: the whole node, or unknown */
    int source;        /* index of the source's row in the table of sources */
    double factor;     /* joules or bytes per count */
    char name[160];    /* path of the file below `folder`; PMU, event and CPU; or a helper program's event */
    int folder;        /* for a file: the folder where it is opened again after it was gone; -1: not a file */
    int fd;            /* the open file or perf event; -1 while it is gone, or where a helper program reads it */
    const struct hm_papi_reader *papi; /* a helper program that reads this counter; NULL: none */
    unsigned papi_event;               /* index of the event in that program */
    bool is_from_0;  /* it started at 0 for its reader, so that its first value already counts as a difference */
    bool spans_gaps; /* a difference may begin before readings that were missed */
    enum hm_counter_state gap; /* with `spans_gaps`: why the last reading was missed; HM_COUNTER_VALID: it was not */
    bool is_silence_known;     /* while it has no value yet (hm_gauge_is_silent), there was no traffic */
    bool is_of_groups;         /* its values are sums over a control group's own tasks and its monitoring groups */
    struct hm_counter counter;
    struct hm_total total;
    char said[24]; /* the text that was read instead of a number; "" otherwise */
};

struct hm_gauges {
    struct hm_gauge *gauge;
    size_t n, room;
    struct hm_papi_reader *reader[HM_N_PROGRAMS]; /* the helper programs; NULL: not running */
    int reader_source[HM_N_PROGRAMS];             /* index of each program's row in the table of sources */
    struct hm_groupwatch groups;                  /* watches the groups of gauges with is_of_groups */
};

/* The name of a quantity, for people: "package energy" and so on. */
const char *hm_quantity_name(enum hm_quantity quantity);
/* The most that one counter of this quantity counts in a second, in joules or bytes; more than that is a reset. */
double hm_quantity_most_per_s(enum hm_quantity quantity);
/* The unit of a quantity: "J" or "B". */
const char *hm_quantity_unit(enum hm_quantity quantity);

/* Add a gauge for the file `name` below `folder`, which must stay open as long as the gauges. The caller fills
 * in `like`, except the folder, the descriptor, and what the counter knows of its last value. Returns 0, or -1 with a
 * text. */
int hm_gauges_add_file(struct hm_gauges *gauges, const struct hm_gauge *like, int folder, struct hm_error *error);

/* Add a gauge for a perf event of the PMU `type` on a CPU; it counts from now on. Returns 0, or -1 with a text for
 * people. */
int hm_gauges_add_event(struct hm_gauges *gauges, const struct hm_gauge *like, uint32_t type,
                        const struct hm_pmu_config *config, int cpu, struct hm_error *error);

/* Add a gauge for event `i` of one of the helper programs. Returns 0, or -1 with a text. */
int hm_gauges_add_asked(struct hm_gauges *gauges, const struct hm_gauge *like, enum hm_papi_program program, unsigned i,
                        struct hm_error *error);

/* Does a gauge that started at 0 still have no value? The kernel says "Unavailable" while a new group has had no
 * traffic; on AMD also while the processor does not track the group. */
bool hm_gauge_is_silent(const struct hm_gauge *gauge);

/* Read all gauges, and add what each counted since its last reading to its total. `now_ns` is CLOCK_MONOTONIC. */
void hm_gauges_read(struct hm_gauges *gauges, uint64_t now_ns);

/* The same, for a caller that has already asked the helper programs and has their answers. */
void hm_gauges_take(struct hm_gauges *gauges, uint64_t now_ns);

/* Clear all totals except those of gauges that started at 0. No difference begins before this. */
void hm_gauges_clear(struct hm_gauges *gauges);

/* Close and remove the gauges from index `first` on. With 0, also free everything and end the helper programs. */
void hm_gauges_close(struct hm_gauges *gauges, size_t first);

#endif
