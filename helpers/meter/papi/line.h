/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of hybridmem-papi --read, and of hybridmem-slurmenergy --read, one after the other:
 *
 *     papi 1 VERSION                                     of the lines, and of PAPI;
 *     slurm 1 VERSION                                    or of Slurm
 *     component NAME in|out REASON                       for each that the table of events names
 *     event INDEX MEASURE KIND SOCKET UNIT MODULUS NAME  indexes from 0 on; SOCKET and KIND are - where there is none;
 *                                                        MODULUS 0 stands for 2^64
 *     ready N                                            so many events; what follows is readings
 *     read NANOSECONDS VALUE...                          CLOCK_MONOTONIC; raw values; - where one could not be read
 *     error TEXT                                         the last line, where it cannot go on
 *
 * Words are separated by one space; the last of component, event and error goes to the end of the line. Pure.
 */
#ifndef HM_METER_PAPI_LINE_H
#define HM_METER_PAPI_LINE_H

#include <stdint.h>

#include "table.h"

#define HM_PAPI_LINES "1"       /* their version */
#define HM_PAPI_MOST_EVENTS 512 /* eight sockets with twelve memory channels, four events each, and energy */
#define HM_PAPI_LINE_SIZE 16384 /* with the newline; a reading of all events has 22 bytes for each */
#define HM_PAPI_NAME 128        /* of an event or component */
#define HM_PAPI_ALARM_S                                                                                                \
    30 /* a program that is longer at its start or at a reading is ended by its own alarm: who                         \
        * asks it may have no right to end it */

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
    int socket; /* -1: not known */
    enum hm_papi_unit unit;
    uint64_t modulus; /* raw values are below it; 0 stands for 2^64 */
    char name[HM_PAPI_NAME];
};

struct hm_papi_line {
    enum hm_papi_line_type type;
    unsigned number;          /* the event's index; how many are ready; how many values were read */
    bool is_in;               /* the component */
    char name[HM_PAPI_NAME];  /* of the component; PAPI's or Slurm's version */
    char text[HM_ERROR_TEXT]; /* reason or error, cut */
    struct hm_papi_event event;
    uint64_t time_ns;
    uint64_t value[HM_PAPI_MOST_EVENTS];
    bool is_known[HM_PAPI_MOST_EVENTS];
};

/* Take a line without its newline, which is changed. Returns 0, or -1 (EBADMSG) with a text that names the word. */
int hm_papi_line_parse(char *line, struct hm_papi_line *out, struct hm_error *error);

/* Write an event's line, as above, with its newline. Returns its length, or -1 where it does not fit. */
int hm_papi_line_event(unsigned index, const struct hm_papi_event *event, char *out, size_t size);

/* Write a reading's line. Returns its length; HM_PAPI_LINE_SIZE bytes are enough for HM_PAPI_MOST_EVENTS. */
int hm_papi_line_read(uint64_t time_ns, const uint64_t *value, const bool *is_known, unsigned n, char *out,
                      size_t size);

#endif
