/* SPDX-License-Identifier: Apache-2.0 */
/* A job on a node with two tiers, and the monitor's samples, from which tests build records. */
#ifndef HM_RECORDFIXTURE_H
#define HM_RECORDFIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "job/record/record.h"

#define MIB (UINT64_C(1) << 20)
#define SECOND INT64_C(1000000000)
#define START (INT64_C(1740823200) * SECOND) /* 2025-03-01T10:00:00Z */

extern struct hm_config config;
extern struct hm_tiers tiers;
extern struct hm_job job;
extern struct hm_samples samples;

/* Fills in the tier `index`, on the nodes `first_node` and the next one. */
void set_tier(int index, const char *name, enum hm_kind kind, unsigned first_node);

/* DRAM on nodes 0 and 1, PMem on nodes 2 and 3; an ordinary job, of which the batch script and the extern step ran. */
int set_up(void **state);

/* Adds a sample, `second` seconds after START: these bytes, and a few MiB of other kinds of memory in the fast tier. */
void sample_at(unsigned second, uint64_t fast_anon, uint64_t slow_anon, uint64_t file);

/* Gives the job a plan of the mode spill. */
void plan_spill(void);

/* Gives the samples two minutes of counters: energy of two domains, and traffic, of which the slow tier's writes are
 * not known. */
void set_metered(void);

/* Gives both tiers a model of the energy that they take. */
void set_model(void);

/* Builds the record of `job` (hm_record_build), and checks that it equals tests/fixtures/records/NAME.json, which
 * tests/cli checks against the schema. */
void assert_golden(const char *name, const struct hm_tiers *known, const struct hm_samples *measured, const char *why);

#endif
