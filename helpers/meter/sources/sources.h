/* SPDX-License-Identifier: Apache-2.0 */
/* The table of sources of counters, best first (meters.def). Each source says what it covers and measures, and, where
 * it has no counter on this node, why. */
#ifndef HM_METER_SOURCES_SOURCES_H
#define HM_METER_SOURCES_SOURCES_H

#include "meter/count/gauge.h"

#define HM_GIVES(quantity) (1U << (quantity))
#define HM_GIVES_ENERGY (HM_GIVES(HM_PACKAGE_ENERGY) | HM_GIVES(HM_MEMORY_ENERGY) | HM_GIVES(HM_PLATFORM_ENERGY))
#define HM_GIVES_TRAFFIC (HM_GIVES(HM_READ_BYTES) | HM_GIVES(HM_WRITE_BYTES))

/* Texts that several rows share. */
#define HM_COVERS_SOCKETS "each socket, whatever runs on it"
#define HM_NEVER_WRAPS "not in a lifetime: the kernel extends it to 64 bits"

struct hm_counters_setup {
    int sysfs;             /* the open folder /sys */
    int resctrl;           /* the open folder of a resctrl group, or -1 */
    int resctrl_why;       /* errno of opening it, where it is -1 */
    bool is_new_group;     /* the group was made for this reader, so its counters began at 0 */
    const char *papi;      /* the program hybridmem-papi; NULL: PAPI is not asked */
    const char *slurm;     /* hybridmem-slurmenergy; NULL: Slurm is not asked */
    const char *not_asked; /* why `papi` or `slurm` is NULL: follows "PAPI is not asked: " or "Slurm is not asked: " */
    /* For a list of all counters: a helper program adds also those that better sources have (else only the rest). Other
     * sources always add all of theirs. */
    bool is_list;
    /*
     * If not NULL: start the helper programs only where better sources lack energy, or traffic of a tier in this list,
     * and do not wait for their answers (hm_counters_join). Open events of PMem only where one of these tiers is PMem.
     */
    const struct hm_tiers *later;
};

struct hm_counter_source {
    const char *name;
    unsigned gives;       /* HM_GIVES of each quantity that the source has on some machine */
    const char *covers;   /* whose energy or traffic it counts */
    const char *measures; /* what it measures, and with which counters */
    const char *unit;     /* unit of a raw count */
    const char *wraps;    /* when a raw count wraps */
    const char *needs;    /* the privilege that opening its counters needs */
    /* Open all counters that the source has on this node, and add them to `gauges`. Returns 0, or -1 with the reason,
     * and maybe with some gauges, which the caller closes: a source with a part of its counters would measure too
     * little. */
    int (*find)(const struct hm_counters_setup *setup, struct hm_gauges *gauges, int source, struct hm_error *reason);
};

/* The rows, each in the file of its source (one file may have several), and their number. */
#define HM_METER(name) extern const struct hm_counter_source hm_meter_##name;
#include "meter/sources/meters.def"
enum {
#define HM_METER(name) HM_METER_NUMBER_##name,
#include "meter/sources/meters.def"
    HM_METERS
};

/* What a source has found. */
struct hm_counters_tried {
    const struct hm_counter_source *source;
    size_t first, n; /* its gauges; n is 0 where it has none */
    char reason[HM_ERROR_TEXT];
};

/* A row of the table, or NULL past its end. */
const struct hm_counter_source *hm_counter_source_at(int i);

/* Open the counters of all sources. Returns the number of rows in `tried`. The caller closes the gauges. */
int hm_counters_find(const struct hm_counters_setup *setup, struct hm_gauges *gauges,
                     struct hm_counters_tried tried[HM_METERS]);

/* The quantity of a helper program's measure, or of a zone of powercap (hm_papi_zone); HM_N_QUANTITIES: none. */
enum hm_quantity hm_counter_quantity(enum hm_papi_measure measure);

/*
 * Would the gauge `like` read a register of which its source already has a gauge? On AMD and Hygon, RAPL has one
 * counter of a package's energy. But Linux 6.9 up to 6.10.11 and 6.11.0 (commit 26096aed255f), and for perf a few
 * versions more (8d72eba1cf8c), show it once for each die of cores.
 */
bool hm_counter_is_twin(const struct hm_counters_setup *setup, const struct hm_gauges *gauges,
                        const struct hm_gauge *like);

/*
 * Call this when a program started with `later` has described its counters, or will not do so
 * (hm_papi_reader_is_awaited). This adds the counters that no better source has, and returns how many. With none, the
 * program is ended, and its row gets the reason.
 */
size_t hm_counters_join(struct hm_gauges *gauges, struct hm_counters_tried tried[HM_METERS],
                        enum hm_papi_program program);

#endif
