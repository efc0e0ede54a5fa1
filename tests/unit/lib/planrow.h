/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of tests of plans: a request on a simulated machine (machines.h), and the plan expected for it. */
#ifndef PLANROW_H
#define PLANROW_H

#include <stdbool.h>
#include <stdint.h>

#include "core/plan/plan.h"

#define GIB (UINT64_C(1) << 30)

struct row {
    const char *shape; /* name of the machine (machines.c) */
    const char *request, *cpus, *kernel;
    bool alone;        /* no other job is on the node */
    uint64_t size_gib; /* size of the job's memory; 0: unknown */
    const char *config;
    const char *weights_now; /* the kernel's weights for interleaving, in the form of `weights`; NULL: it has none */
    /* the expected plan */
    enum hm_policy policy;
    const char *nodes;
    const char *weights; /* NODE:WEIGHT of each node, as "0:5 2:1"; NULL: none */
    bool must_set;
    double predicted_gbs; /* -1: unknown */
    const char *reason;   /* a part of the reason */
    const char *warning;  /* a part of the only warning; NULL: there is none */
};

/* Members of a row: a task on CPU 0 with Linux 6.12, on a node that other jobs share, or that its job has alone. */
#define SHARED .cpus = "0", .kernel = "6.12"
#define ALONE .cpus = "0", .kernel = "6.12", .alone = true

struct work {
    struct hm_tiers tiers;
    struct hm_config config;
    struct hm_abilities abilities;
    struct hm_where where;
    struct hm_request request;
    struct hm_plan plan;
    struct hm_error error;
};

/* Plan the row's request, into `work`. Returns what hm_plan_resolve() returns. */
int planrow_resolve(struct work *work, const struct row *row);
/* Plan each row's request, and compare the plan with what is expected. */
void planrow_check(const struct row *rows, size_t count);

#endif
