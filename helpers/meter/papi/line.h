/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of the helper programs: the lines of hybridmem-papi --read and hybridmem-slurmenergy --read, in this
 * order:
 *
 *     papi 1 VERSION                                     version of the protocol, and of PAPI
 *     slurm 1 VERSION                                    or this, with the version of Slurm
 *     component NAME in|out REASON                       one for each component in the table of events; REASON only
 *                                                        after out
 *     event INDEX MEASURE KIND SOCKET UNIT MODULUS NAME  indexes from 0 on; SOCKET and KIND are - where there is none;
 *                                                        MODULUS 0 stands for 2^64
 *     ready N                                            number of events; readings follow
 *     read NANOSECONDS VALUE...                          CLOCK_MONOTONIC, and raw values; - where one was not read
 *     error TEXT                                         the last line of a program that cannot go on
 *
 * Words are separated by one space. VERSION, REASON, NAME of an event, and TEXT go to the end of the line. Pure.
 */
#ifndef HM_METER_PAPI_LINE_H
#define HM_METER_PAPI_LINE_H

#include <stdint.h>

#include "table.h"

#define HM_PAPI_LINES "1" /* version of the protocol */
/* Enough for eight sockets with twelve memory channels and four events each, and energy. */
#define HM_PAPI_MOST_EVENTS 512
#define HM_PAPI_LINE_SIZE 16384 /* longest line, with its newline; a reading has at most 22 bytes for each event */
#define HM_PAPI_NAME 128        /* longest name of an event or component, with the end mark */
/* A program whose start or reading takes longer than this many seconds is ended by its own alarm: the process that asks
 * it may have no right to end it. */
#define HM_PAPI_ALARM_S 30

enum hm_papi_line_type {
    HM_PAPI_LINE_PAPI,
    HM_PAPI_LINE_SLURM,
    HM_PAPI_LINE_COMPONENT,
    HM_PAPI_LINE_EVENT,
    HM_PAPI_LINE_READY,
    HM_PAPI_LINE_READ,
    HM_PAPI_LINE_ERROR,
};

struct hm_papi_event {
    enum hm_papi_measure measure;
    enum hm_kind kind;
    int socket; /* -1: unknown */
    enum hm_papi_unit unit;
    uint64_t modulus; /* raw values are below this; 0 means 2^64 */
    char name[HM_PAPI_NAME];
};

struct hm_papi_line {
    enum hm_papi_line_type type;
    unsigned number;          /* index of the event; or number of events or values */
    bool is_in;               /* the component is in use */
    char name[HM_PAPI_NAME];  /* name of the component; or version of PAPI or Slurm */
    char text[HM_ERROR_TEXT]; /* reason or error; cut where it is too long */
    struct hm_papi_event event;
    uint64_t value[HM_PAPI_MOST_EVENTS];
    bool is_known[HM_PAPI_MOST_EVENTS];
};

/* Parse a line without its newline; the line is changed. Returns 0, or -1 (EBADMSG) with a text, which names the line's
 * first word if that is one of the protocol's. */
int hm_papi_line_parse(char *line, struct hm_papi_line *out, struct hm_error *error);

/* Write the line of an event, with its newline. Returns its length, or -1 where it does not fit. */
int hm_papi_line_event(unsigned index, const struct hm_papi_event *event, char *out, size_t size);

/* Write the line of a reading. Returns its length. HM_PAPI_LINE_SIZE bytes are enough for HM_PAPI_MOST_EVENTS. */
int hm_papi_line_read(uint64_t time_ns, const uint64_t *value, const bool *is_known, unsigned n, char *out,
                      size_t size);

#endif
