/* SPDX-License-Identifier: Apache-2.0 */
#include "batch.h"

#include <errno.h>
#include <limits.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "base/pagesize.h"
#include "migrator/watch/powers.h"

#define UNWRITTEN INT_MIN /* neither a node nor an errno: the kernel did not write this entry */
#define ROUNDS 8          /* most calls for one list: a call may end early because some pages were not moved */

static void *address_of(uint64_t page)
{
    return (void *)(uintptr_t)(page << hm_page_shift());
}

/* Asks where address[0 .. count - 1] are. The answers are in status[]. */
static int ask(struct hm_batch *batch, pid_t pid, size_t count)
{
    for (size_t i = 0; i < count; i++)
        batch->status[i] = UNWRITTEN;
    return move_pages((int)pid, count, batch->address, NULL, batch->status, 0) < 0 ? -1 : 0;
}

int hm_batch_query(struct hm_batch *batch, pid_t pid, const uint64_t *page, int *status, size_t count)
{
    for (size_t done = 0; done < count;) {
        size_t n = count - done < HM_BATCH_PAGES ? count - done : HM_BATCH_PAGES;
        for (size_t i = 0; i < n; i++)
            batch->address[i] = address_of(page[done + i]);
        if (ask(batch, pid, n) != 0)
            return -1;
        memcpy(status + done, batch->status, n * sizeof(*status));
        done += n;
    }
    return 0;
}

static enum hm_outcome outcome_of(int status)
{
    static const struct {
        int number;
        enum hm_outcome outcome;
    } rows[] = {
        {EACCES, HM_OUTCOME_UNMOVED + HM_UNMOVED_SHARED},
        {EBUSY, HM_OUTCOME_UNMOVED + HM_UNMOVED_BUSY},
        {EAGAIN, HM_OUTCOME_UNMOVED + HM_UNMOVED_BUSY},
        {ENOMEM, HM_OUTCOME_UNMOVED + HM_UNMOVED_ROOM},
        {EPERM, HM_OUTCOME_UNMOVED + HM_UNMOVED_DENIED},
        {ENODEV, HM_OUTCOME_UNMOVED + HM_UNMOVED_DENIED},
        {ENOENT, HM_OUTCOME_GONE},
        {EFAULT, HM_OUTCOME_GONE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (status == -rows[i].number)
            return rows[i].outcome;
    return HM_OUTCOME_UNMOVED + HM_UNMOVED_OTHER;
}

static void settle(struct hm_candidate *candidate, enum hm_outcome outcome)
{
    candidate->outcome = (uint8_t)outcome;
    candidate->n_moved = outcome == HM_OUTCOME_MOVED;
}

/* The call failed with `number`: sets the outcome of the candidates that have none yet. If the error is about a node,
 * these are only the candidates that were to go there. */
static void settle_rest(struct hm_batch *batch, int number, const uint32_t *chosen, size_t count)
{
    int node = -1;
    for (size_t i = 0; node < 0 && i < count; i++)
        if (batch->candidate[chosen[i]].outcome == HM_OUTCOME_NONE)
            node = batch->candidate[chosen[i]].to;
    bool is_node = number == EACCES || number == ENODEV || number == ENOMEM;
    if (number == ENOMEM)
        batch->full = node;
    else if (is_node)
        batch->refused = node;
    else
        batch->is_over = true;
    enum hm_outcome outcome = number == ENOMEM  ? HM_OUTCOME_UNMOVED + HM_UNMOVED_ROOM
                              : number == ESRCH ? HM_OUTCOME_GONE
                                                : HM_OUTCOME_UNMOVED + HM_UNMOVED_DENIED;
    for (size_t i = 0; i < count; i++) {
        struct hm_candidate *candidate = &batch->candidate[chosen[i]];
        if (candidate->outcome == HM_OUTCOME_NONE && (!is_node || candidate->to == node))
            settle(candidate, outcome);
    }
}

/*
 * Reads the outcomes that the kernel wrote. EBUSY is not clear: a page that was moved with its huge page is reported as
 * busy, too. Such pages, and those for which the kernel wrote nothing, are looked up again. Returns the number of
 * entries up to the last one that the kernel certainly reached.
 */
static size_t read_back(struct hm_batch *batch, pid_t pid, const uint32_t *chosen, size_t count)
{
    size_t unclear = 0, reached = 0;
    uint32_t at[HM_BATCH_PAGES];
    for (size_t i = 0; i < count; i++) {
        struct hm_candidate *candidate = &batch->candidate[chosen[i]];
        int status = batch->status[i];
        if (status == UNWRITTEN || status == -EBUSY) {
            at[unclear++] = (uint32_t)i;
            reached = status == -EBUSY ? i + 1 : reached;
            continue;
        }
        settle(candidate, status == candidate->to ? HM_OUTCOME_MOVED
                          : status >= 0           ? HM_OUTCOME_UNMOVED + HM_UNMOVED_BUSY
                                                  : outcome_of(status));
        reached = i + 1;
    }
    if (unclear == 0)
        return reached;
    int *was = batch->node; /* the call is over, so this array is free */
    for (size_t i = 0; i < unclear; i++) {
        was[i] = batch->status[at[i]];
        batch->address[i] = address_of(batch->candidate[chosen[at[i]]].page);
    }
    if (ask(batch, pid, unclear) != 0) {
        batch->is_over = true;
        return reached;
    }
    for (size_t i = 0; i < unclear; i++) {
        struct hm_candidate *candidate = &batch->candidate[chosen[at[i]]];
        if (batch->status[i] == candidate->to)
            settle(candidate, HM_OUTCOME_MOVED);
        else if (batch->status[i] == -ENOENT || batch->status[i] == -EFAULT)
            settle(candidate, HM_OUTCOME_GONE);
        else if (was[i] == -EBUSY)
            settle(candidate, HM_OUTCOME_UNMOVED + HM_UNMOVED_BUSY);
        if (candidate->outcome != HM_OUTCOME_NONE && at[i] + 1 > reached)
            reached = at[i] + 1;
    }
    return reached;
}

/* Moves the chosen candidates, which are sorted by destination. */
static void submit(struct hm_batch *batch, pid_t pid, uint32_t *chosen, size_t count)
{
    for (int round = 0; round < ROUNDS && count > 0 && !batch->is_over; round++) {
        for (size_t i = 0; i < count; i++) {
            const struct hm_candidate *candidate = &batch->candidate[chosen[i]];
            batch->address[i] = address_of(candidate->page);
            batch->node[i] = candidate->to;
            batch->status[i] = UNWRITTEN;
        }
        errno = 0;
        long result = batch->for_all
                          ? hm_powers_move_all(pid, count, batch->address, batch->node, batch->status)
                          : move_pages((int)pid, count, batch->address, batch->node, batch->status, MPOL_MF_MOVE);
        int number = result < 0 ? errno : 0;
        if (number == ESRCH || number == EPERM) {
            settle_rest(batch, number, chosen, count);
            return;
        }
        size_t reached = read_back(batch, pid, chosen, count);
        if (number)
            settle_rest(batch, number, chosen, count);
        /*
         * Pages before `reached` without an outcome were tried and not moved. Later ones were perhaps not tried: they
         * go into the next call. But if this call has succeeded and reached none, all count as busy.
         */
        size_t rest = 0;
        for (size_t i = 0; i < count; i++) {
            struct hm_candidate *candidate = &batch->candidate[chosen[i]];
            if (candidate->outcome != HM_OUTCOME_NONE)
                continue;
            if (i < reached || (reached == 0 && !number))
                settle(candidate, HM_OUTCOME_UNMOVED + HM_UNMOVED_BUSY);
            else
                chosen[rest++] = chosen[i];
        }
        count = rest;
    }
    for (size_t i = 0; i < count; i++)
        if (batch->candidate[chosen[i]].outcome == HM_OUTCOME_NONE)
            settle(&batch->candidate[chosen[i]], HM_OUTCOME_UNMOVED + HM_UNMOVED_BUSY);
}

static int compare(const void *a, const void *b)
{
    const struct hm_candidate *x = a, *y = b;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->page > y->page) - (x->page < y->page);
}

/* Index after the candidates in the same huge page as candidate `first`; first + 1 if that is in no huge page. */
static size_t end_of_block(const struct hm_batch *batch, size_t first)
{
    const struct hm_candidate *head = &batch->candidate[first];
    size_t i = first + 1;
    while (head->may_be_huge && i < batch->n && batch->candidate[i].to == head->to &&
           batch->candidate[i].page / hm_huge_pages() == head->page / hm_huge_pages())
        i++;
    return i;
}

/* Another page of the huge page of candidate `first`: that of the next candidate, or else a neighbouring page. */
static uint64_t partner_of(const struct hm_batch *batch, size_t first)
{
    return end_of_block(batch, first) - first > 1 ? batch->candidate[first + 1].page : batch->candidate[first].page ^ 1;
}

/* Lists the first candidate of each block that may be a huge page, if its partner is on the same node. */
static size_t find_heads(struct hm_batch *batch, pid_t pid, uint32_t *heads)
{
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < batch->n; i = end_of_block(batch, i)) {
        if (!batch->candidate[i].may_be_huge || batch->candidate[i].outcome != HM_OUTCOME_NONE)
            continue;
        batch->address[count] = address_of(partner_of(batch, i));
        heads[count++] = (uint32_t)i;
    }
    if (count == 0 || ask(batch, pid, count) != 0)
        return 0;
    for (size_t h = 0; h < count; h++)
        if (batch->status[h] == batch->candidate[heads[h]].from)
            heads[kept++] = heads[h];
    return kept;
}

/* Moves each huge page by one of its pages. If that page's partner has moved along, the whole huge page has moved. */
static void move_huge(struct hm_batch *batch, pid_t pid)
{
    uint32_t heads[HM_BATCH_PAGES];
    size_t count = find_heads(batch, pid, heads);
    if (count == 0)
        return;
    memcpy(batch->chosen, heads, count * sizeof(*heads));
    submit(batch, pid, batch->chosen, count);
    for (size_t h = 0; h < count; h++)
        batch->address[h] = address_of(partner_of(batch, heads[h]));
    if (ask(batch, pid, count) != 0)
        return;
    for (size_t h = 0; h < count; h++) {
        size_t i = heads[h];
        if (batch->candidate[i].outcome != HM_OUTCOME_MOVED || batch->status[h] != batch->candidate[i].to)
            continue;
        batch->candidate[i].n_moved = hm_huge_pages();
        for (size_t j = i + 1, end = end_of_block(batch, i); j < end; j++)
            settle(&batch->candidate[j], HM_OUTCOME_WITH_HUGE);
    }
}

void hm_batch_move(struct hm_batch *batch, pid_t pid)
{
    size_t count = 0;
    batch->refused = batch->full = -1;
    batch->is_over = false;
    if (batch->n > 1)
        qsort(batch->candidate, batch->n, sizeof(batch->candidate[0]), compare);
    move_huge(batch, pid);
    for (size_t i = 0; i < batch->n; i++)
        if (batch->candidate[i].outcome == HM_OUTCOME_NONE)
            batch->chosen[count++] = (uint32_t)i;
    submit(batch, pid, batch->chosen, count);
}
