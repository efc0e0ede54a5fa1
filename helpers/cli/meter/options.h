/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of hybridmem meter. */
#ifndef HM_CLI_METER_OPTIONS_H
#define HM_CLI_METER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct hm_meter_options {
    bool list, json;
    bool step; /* show a line for each line of standard input, not by time */
    uint64_t interval_ms;
    uint64_t count; /* lines to show; 0: no end */
    const char *sysfs, *resctrl, *topology, *config;
};

/*
 * Parses the command line into `options`, which must be all 0. Returns -1 to go on, or the exit status, after all
 * messages are written.
 */
int hm_meter_parse(int argc, char **argv, struct hm_meter_options *options);

#endif
