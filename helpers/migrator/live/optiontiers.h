/* SPDX-License-Identifier: Apache-2.0 */
/* The tiers that the options of hybridmem-migrator name: their nodes, and what accesses cost there. Pure. */
#ifndef HM_MIGRATOR_LIVE_OPTIONTIERS_H
#define HM_MIGRATOR_LIVE_OPTIONTIERS_H

#include "options.h"

/* Reads a latency relative to the fast tier's: digits, and a point. Returns 0, or -1 (EINVAL). */
int hm_latency_parse(const char *text, uint64_t least, uint64_t most, double *latency, struct hm_error *error);
/*
 * Reads a tier between the fast and the slow one: LIST, LIST:READ or LIST:READ:WRITE, its nodes and its latencies
 * relative to the fast tier's, 1 to HM_OPTIONS_MOST_LATENCY; 0 where it is not given. `text` still belongs to the
 * caller. Returns 0, or -1 (EINVAL).
 */
int hm_middle_tier_parse(const char *text, struct hm_middle_tier *tier, struct hm_error *error);

/* Fills in the nodes of the tiers, fastest first. Returns the number of tiers. */
unsigned hm_options_tiers(const struct hm_options *options, struct hm_set nodes[HM_MAX_TIERS]);
/*
 * Fills in the latencies of reads and of writes by tier, relative to the fast tier's. Those that were not given lie in
 * equal steps between the fast and the slow tier's.
 */
void hm_options_latencies(const struct hm_options *options, double read[HM_MAX_TIERS], double write[HM_MAX_TIERS]);
/* Returns 0, or -1 (EINVAL): a tier is faster than the one before it or slower than the slow one, or the algorithm
 * knows two tiers only. */
int hm_options_check_tiers(const struct hm_options *options, struct hm_error *error);

#endif
