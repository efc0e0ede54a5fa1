/* SPDX-License-Identifier: Apache-2.0 */
/* The helper programs that read counters, with the reasons that are given where a program has none. */
#ifndef HM_METER_PAPI_PROGRAM_H
#define HM_METER_PAPI_PROGRAM_H

#include "line.h"

enum hm_papi_program { HM_PROGRAM_PAPI, HM_PROGRAM_SLURMENERGY, HM_N_PROGRAMS };

struct hm_papi_program_row {
    const char *name;
    enum hm_papi_line_type first; /* type of its first line */
    const char *missing;          /* why the program is not installed */
    const char *empty;            /* the reason where the program has no event, and does not say why */
    const char *of_127;           /* what exit status 127 means; follows "ended with 127" */
    const char *variable;         /* variable of the environment that it needs; NULL: none */
    bool may_be_late;             /* what it counts is worth an answer that comes after its time */
};

extern const struct hm_papi_program_row hm_papi_programs[HM_N_PROGRAMS];

#endif
