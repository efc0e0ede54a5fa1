/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sources of counters: one table, best first (meters.def). Each says what it covers and measures, and, where it has
 * nothing on this node, why.
 */
#ifndef HM_METER_SOURCES_SOURCES_H
#define HM_METER_SOURCES_SOURCES_H

#include "meter/count/gauge.h"

#define HM_GIVES(quantity) (1U << (quantity))
#define HM_GIVES_ENERGY (HM_GIVES(HM_PACKAGE_ENERGY) | HM_GIVES(HM_MEMORY_ENERGY) | HM_GIVES(HM_PLATFORM_ENERGY))
#define HM_GIVES_TRAFFIC (HM_GIVES(HM_READ_BYTES) | HM_GIVES(HM_WRITE_BYTES))

/* What several rows say. */
#define HM_COVERS_SOCKETS "each socket, whatever runs on it"
#define HM_NEVER_WRAPS "not in a lifetime: the kernel extends it to 64 bits"

struct hm_counters_setup {
    int sysfs;         /* the folder that is /sys */
    int resctrl;       /* the folder of a resctrl group, or -1 with */
    int resctrl_why;   /* the errno of opening it */
    bool is_new_group; /* it was made for who reads it: its counters began at 0 */
    const char *papi;  /* the program hybridmem-papi; NULL: PAPI is not asked */
    const char *slurm; /* hybridmem-slurmenergy; NULL: Slurm is not asked */
    const char *who;   /* what would have them asked, for the reason */
    bool is_list;      /* also what better sources have */
    /* Not NULL: the programs are started only where better sources lack energy, or traffic of one of these tiers'
     * kinds, and nobody waits for what they say: hm_counters_join. Events of PMem are opened only where one is. */
    const struct hm_tiers *later;
};

struct hm_counter_source {
    const char *name;
    unsigned gives;       /* HM_GIVES of each quantity that it has somewhere */
    const char *covers;   /* whose energy and traffic it counts */
    const char *measures; /* what, and of which counters */
    const char *unit;     /* of a raw count */
    const char *wraps;    /* when */
    const char *needs;    /* which privilege */
    /* Add all that it has here to `gauges`, opened. Returns 0, or -1 with the reason and maybe some gauges, which the
     * caller closes: a source with a part of its counters would measure too little. */
    int (*find)(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, struct hm_error *reason);
};

/* The rows, each in its source's own file, and how many there are. */
#define HM_METER(name) extern const struct hm_counter_source hm_meter_##name;
#include "meter/sources/meters.def"
enum {
#define HM_METER(name) HM_METER_NUMBER_##name,
#include "meter/sources/meters.def"
    HM_METERS
};

/* What came of a source. */
struct hm_counters_tried {
    const struct hm_counter_source *source;
    size_t first, n; /* its gauges; n 0: it is out */
    char reason[HM_ERROR_TEXT];
};

/* Row of the table, or NULL behind its end. */
const struct hm_counter_source *hm_counter_source_at(int i);

/* Open all that there is. Returns how many rows `tried` has then. The caller closes the gauges. */
int hm_counters_find(const struct hm_counters_setup *setup, struct hm_gauges *gauges,
                     struct hm_counters_tried tried[HM_METERS]);

/* A program that was started for later has described its counters, or will not (hm_papi_reader_is_awaited): add those
 * that no better source has. Returns how many these are; with none, the program is ended, and the row has the reason.
 */
size_t hm_counters_join(struct hm_gauges *gauges, struct hm_counters_tried tried[HM_METERS],
                        enum hm_papi_program program);

#endif
