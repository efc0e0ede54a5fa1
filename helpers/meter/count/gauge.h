/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gauges: the counters of a node that are open, each a file with a number in it or a perf event, with what it counted
 * since the totals were last cleared.
 */
#ifndef HM_METER_COUNT_GAUGE_H
#define HM_METER_COUNT_GAUGE_H

#include <stddef.h>
#include <stdint.h>

#include "core/topology/topology.h"
#include "counter.h"
#include "groupwatch.h"
#include "meter/papi/read.h"
#include "pmu.h"
#include "total.h"

/* What is counted. */
enum hm_quantity {
    HM_PACKAGE_ENERGY,  /* a socket's processor */
    HM_MEMORY_ENERGY,   /* the DRAM of a socket */
    HM_PLATFORM_ENERGY, /* the whole node */
    HM_READ_BYTES,
    HM_WRITE_BYTES,
    HM_TOTAL_BYTES, /* reads and writes of all tiers, not told apart */
    HM_LOCAL_BYTES, /* those of HM_TOTAL_BYTES that go to the processor's own socket */
    HM_N_QUANTITIES
};

struct hm_gauge {
    enum hm_quantity quantity;
    enum hm_kind kind;                 /* of memory, of bytes; else HM_KIND_UNKNOWN */
    int socket;                        /* -1: the node's, or not known */
    int source;                        /* index of the source's row */
    double factor;                     /* joules or bytes for each count */
    char name[160];                    /* a file's path below `folder`, or PMU, event and CPU */
    int folder;                        /* of a file: it is looked for there again once it is gone; -1: no file */
    int fd;                            /* of the file or perf event; -1 while it is gone */
    const struct hm_papi_reader *papi; /* another program's instead: event so much of it */
    unsigned papi_event;
    bool is_from_0;    /* it counts from 0 on, and all of that for who reads it: its first value is a difference, too */
    bool is_of_groups; /* the sum of a control group's own tasks and its monitoring groups' */
    struct hm_counter counter;
    struct hm_total total;
    char said[24]; /* what stood where the number should be; "" otherwise */
};

struct hm_gauges {
    struct hm_gauge *gauge;
    size_t n, room;
    struct hm_papi_reader *reader[HM_N_PROGRAMS]; /* theirs, NULL: none */
    int reader_source[HM_N_PROGRAMS];             /* index of its source's row */
    struct hm_groupwatch groups;                  /* of those that are of groups */
};

/* "package energy" ... "local bytes" */
const char *hm_quantity_name(enum hm_quantity quantity);
/* No counter of it counts more in a second, in joules: what would be more is a reset. 0: not known. */
double hm_quantity_most_per_s(enum hm_quantity quantity);
/* "J" or "B" */
const char *hm_quantity_unit(enum hm_quantity quantity);

/*
 * Add a gauge of the file `name` below `folder`, which has to stay open as long as the gauges are. `like` has all that
 * is the caller's to say. Returns 0, or -1 with a text that names the file.
 */
int hm_gauges_add_file(struct hm_gauges *gauges, const struct hm_gauge *like, int folder, struct hm_error *error);

/* Add a perf event of the PMU `type` on a CPU, counting from now on. Returns 0, or -1 with a text for people. */
int hm_gauges_add_event(struct hm_gauges *gauges, const struct hm_gauge *like, uint32_t type,
                        const struct hm_pmu_config *config, int cpu, struct hm_error *error);

/* Add event `i` of one of the gauges' programs. Returns 0, or -1 with a text. */
int hm_gauges_add_asked(struct hm_gauges *gauges, const struct hm_gauge *like, enum hm_papi_program program, unsigned i,
                        struct hm_error *error);

/* Has one that counts from 0 on told of nothing yet? The kernel says "Unavailable" where a new group had no traffic. */
bool hm_gauge_is_silent(const struct hm_gauge *gauge);

/* Read them all: each one's total gets what it counted since it was read before. `now_ns` is CLOCK_MONOTONIC. */
void hm_gauges_read(struct hm_gauges *gauges, uint64_t now_ns);

/* The same where the programs were asked, and none is awaited any more. */
void hm_gauges_take(struct hm_gauges *gauges, uint64_t now_ns);

/* Let the totals begin anew, but for those that count from 0 on. */
void hm_gauges_clear(struct hm_gauges *gauges);

/* Close those from `first` on, and forget them; from 0 on, free all, and end their programs. */
void hm_gauges_close(struct hm_gauges *gauges, size_t first);

#endif
