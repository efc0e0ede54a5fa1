/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hybridmem takes from PAPI: one table of events, and the words in which hybridmem-papi says what it reads. Pure,
 * without PAPI: for hybridmem-papi, and for who reads from it.
 */
#ifndef HM_METER_PAPI_TABLE_H
#define HM_METER_PAPI_TABLE_H

#include <stdbool.h>

#include "core/topology/topology.h"

enum hm_papi_measure {
    HM_PAPI_PACKAGE_ENERGY, /* a socket's processor */
    HM_PAPI_MEMORY_ENERGY,  /* the DRAM of a socket */
    HM_PAPI_PLATFORM_ENERGY,
    HM_PAPI_READ_BYTES,
    HM_PAPI_WRITE_BYTES,
    HM_PAPI_COUNT, /* whatever an event counts that was asked for by its name */
    HM_PAPI_N_MEASURES
};

enum hm_papi_unit {
    HM_PAPI_RAPL_UNIT, /* 2^-32 J: what perf's RAPL events are scaled to */
    HM_PAPI_MICROJOULE,
    HM_PAPI_NANOJOULE,
    HM_PAPI_JOULE, /* of Slurm's */
    HM_PAPI_LINE,  /* 64 bytes */
    HM_PAPI_ONE,   /* of HM_PAPI_COUNT */
    HM_PAPI_N_UNITS
};

struct hm_papi_row {
    const char *component; /* by PAPI's name */
    const char *pattern;   /* fnmatch(3), of the event's name as PAPI lists it */
    const char *mask;      /* behind that name; "" for none */
    const char *pmu;       /* fnmatch(3), of the kernel's PMU, whose cpumask names a CPU per socket; NULL: the event
                            * names the socket itself */
    bool is_zone;          /* what it measures is told by the name of a powercap zone */
    enum hm_papi_measure measure;
    enum hm_kind kind; /* of memory, of bytes; else HM_KIND_UNKNOWN */
    enum hm_papi_unit unit;
};

/* Row of the table, or NULL behind its end. */
const struct hm_papi_row *hm_papi_row_at(int i);
/* The row with this number or the next behind it for an event of a component; NULL: none. */
const struct hm_papi_row *hm_papi_row_find(int *i, const char *component, const char *event);

/* What a powercap zone measures, by the kernel's name for it ("package-0", "psys", in a package "dram"). *socket is
 * -1 where the name has none. Returns 0, or -1: nothing that is wanted here. */
int hm_papi_zone(const char *name, bool is_in_package, enum hm_papi_measure *measure, int *socket);

/* The number behind `key` in an event's name ("ZONE" in "powercap:::ENERGY_UJ:ZONE1_SUBZONE0" is 1), or -1. */
int hm_papi_number_in(const char *event, const char *key);

/* "package-energy" ... "count", and back. Parsing returns 0, or -1. */
const char *hm_papi_measure_name(enum hm_papi_measure measure);
int hm_papi_measure_parse(const char *word, enum hm_papi_measure *measure);
/* "2^-32J", "uJ", "nJ", "J", "64B", "1", and back. */
const char *hm_papi_unit_name(enum hm_papi_unit unit);
int hm_papi_unit_parse(const char *word, enum hm_papi_unit *unit);
/* Joules or bytes for each count. */
double hm_papi_unit_factor(enum hm_papi_unit unit);

#endif
