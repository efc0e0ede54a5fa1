/* SPDX-License-Identifier: Apache-2.0 */
/* What is measured in one run of a plan: the traffic of the slow tier, while the program has one part of its memory
 * there. Who starts the program is another matter: one.c does it itself, and for task.c Slurm does. */
#ifndef HM_SITES_MBI_MEASURE_H
#define HM_SITES_MBI_MEASURE_H

#include "commands.h"
#include "counters.h"
#include "sites/guide/table.h"

struct hm_mbi_measure { /* large */
    const struct hm_mbi_store *store;
    const struct hm_mbi_running *options;
    size_t number;
    struct hm_mbi_run run;
    struct hm_mbi_counters counters;
    struct hm_layout layout;     /* of the tiers */
    struct hm_layout told;       /* what the program is told: its fast nodes are those of the table's sites */
    struct hm_guide_table table; /* of the sites that are set apart */
    struct hm_mbi_result result;
    uint64_t misses, began_ns;
};

/* `measure` is zeroed by the caller, and may be closed from then on. `store` and `options` stay the caller's. */
void hm_mbi_measure_init(struct hm_mbi_measure *measure, const struct hm_mbi_store *store, size_t number,
                         const struct hm_mbi_running *options);
/* Compares the libraries with those of the plan, finds the tiers, and makes the table. Returns 0, or -1 with a text
 * (ESTALE: the sites would not be found). */
int hm_mbi_measure_choose(struct hm_mbi_measure *measure, struct hm_error *error);
/* Opens the counters, after that. Returns 0, or -1 with a text. */
int hm_mbi_measure_open(struct hm_mbi_measure *measure, struct hm_error *error);
/* The program starts now, and then ends with this status of wait(2); meanwhile hm_mbi_counters_read is called. Return
 * 0, or -1 with the reason why there is no figure. */
int hm_mbi_measure_begin(struct hm_mbi_measure *measure, struct hm_error *error);
int hm_mbi_measure_end(struct hm_mbi_measure *measure, int status, struct hm_error *error);
/* Writes the result; `reason`: why there is no figure, or "". Returns 0, or -1 with a text. */
int hm_mbi_measure_keep(struct hm_mbi_measure *measure, const char *reason, struct hm_error *error);
void hm_mbi_measure_close(struct hm_mbi_measure *measure);

#endif
