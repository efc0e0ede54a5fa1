/* SPDX-License-Identifier: Apache-2.0 */
/* What hybridmem takes from PAPI: the table of events, and the words with which hybridmem-papi describes them. Pure,
 * and without PAPI, as both hybridmem-papi and the programs that ask it use this. */
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
    HM_PAPI_COUNT, /* anything that a user-named event counts */
    HM_PAPI_N_MEASURES
};

enum hm_papi_unit {
    HM_PAPI_RAPL_UNIT, /* 2^-32 J, as in perf's RAPL events */
    HM_PAPI_MICROJOULE,
    HM_PAPI_NANOJOULE,
    HM_PAPI_JOULE, /* used by Slurm */
    HM_PAPI_LINE,  /* 64 bytes */
    HM_PAPI_ONE,   /* for HM_PAPI_COUNT */
    HM_PAPI_N_UNITS
};

struct hm_papi_row {
    const char *component; /* PAPI's name of the component */
    const char *pattern;   /* pattern (fnmatch(3)) of the event's name as PAPI lists it */
    const char *mask;      /* appended to that name; "": nothing */
    const char *pmu; /* pattern (fnmatch(3)) of the kernel's PMU, whose cpumask has a CPU for each socket; NULL: the
                        name of the event or of its zone tells the socket */
    bool is_zone;    /* the name of a powercap zone tells what it measures */
    enum hm_papi_measure measure;
    enum hm_kind kind; /* for bytes: the kind of memory; else HM_KIND_UNKNOWN */
    enum hm_papi_unit unit;
};

/* A row of the table, or NULL past its end. */
const struct hm_papi_row *hm_papi_row_at(int i);
/*
 * Find the first row from number *i on for an event of a component. Returns it and sets *i to its number; NULL: none.
 */
const struct hm_papi_row *hm_papi_row_find(int *i, const char *component, const char *event);

/* Find what a powercap zone measures by its kernel name: "package-0" or "package-0-die-1", "psys" or "psys-1", or
 * "dram", which is inside a package. *socket is -1 where it is not a package's own name. Returns 0, or -1 for a zone
 * that hybridmem does not use. */
int hm_papi_zone(const char *name, bool is_in_package, enum hm_papi_measure *measure, int *socket);

/* The number after `key` in an event's name (for "ZONE" in "powercap:::ENERGY_UJ:ZONE1_SUBZONE0" it is 1), or -1. */
int hm_papi_number_in(const char *event, const char *key);

/* The word of a measure, "package-energy" to "count". */
const char *hm_papi_measure_name(enum hm_papi_measure measure);
/* Find the measure of a word. Returns 0, or -1. */
int hm_papi_measure_parse(const char *word, enum hm_papi_measure *measure);
/* The word of a unit: "2^-32J", "uJ", "nJ", "J", "64B" or "1". */
const char *hm_papi_unit_name(enum hm_papi_unit unit);
/* Find the unit of a word. Returns 0, or -1. */
int hm_papi_unit_parse(const char *word, enum hm_papi_unit *unit);
/* Joules or bytes per count. */
double hm_papi_unit_factor(enum hm_papi_unit unit);

#endif
