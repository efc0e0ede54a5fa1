/* SPDX-License-Identifier: Apache-2.0 */
/* The advances on the budget (base/advance.h) that clients had not paid back when their connections ended: a client
 * that connects again still owes them. Pure. */
#ifndef HM_MIGRATOR_DAMON_BROKER_DEBTS_H
#define HM_MIGRATOR_DAMON_BROKER_DEBTS_H

#include "peer.h"

#define HM_DAMON_DEBTS 256 /* the oldest is forgotten where there are more */

/* Begins as zeros. */
struct hm_damon_debts {
    struct {
        pid_t pid; /* 0: none */
        uint64_t start_time;
        double owed_s;
    } debt[HM_DAMON_DEBTS];
    unsigned next;
};

/* Notes what the client owes, in seconds of CPU time. */
void hm_damon_debts_note(struct hm_damon_debts *debts, const struct hm_damon_peer *peer, double owed_s);
/* What the client's process owes from earlier connections, in s, which is forgotten. */
double hm_damon_debts_take(struct hm_damon_debts *debts, const struct hm_damon_peer *peer);

#endif
