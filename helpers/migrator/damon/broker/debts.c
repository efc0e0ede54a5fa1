/* SPDX-License-Identifier: Apache-2.0 */
#include "debts.h"

void hm_damon_debts_note(struct hm_damon_debts *debts, const struct hm_damon_peer *peer, double owed_s)
{
    if (!(owed_s > 0))
        return;
    debts->debt[debts->next].pid = peer->pid;
    debts->debt[debts->next].start_time = peer->start_time;
    debts->debt[debts->next].owed_s = owed_s;
    debts->next = (debts->next + 1) % HM_DAMON_DEBTS;
}

double hm_damon_debts_take(struct hm_damon_debts *debts, const struct hm_damon_peer *peer)
{
    double owed_s = 0;
    for (unsigned i = 0; i < HM_DAMON_DEBTS; i++) {
        if (debts->debt[i].pid != peer->pid || debts->debt[i].start_time != peer->start_time)
            continue;
        owed_s += debts->debt[i].owed_s;
        debts->debt[i].pid = 0;
        debts->debt[i].owed_s = 0;
    }
    return owed_s;
}
