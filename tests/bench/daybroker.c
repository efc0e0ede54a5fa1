/* SPDX-License-Identifier: Apache-2.0 */
/* The broker of DAMON of the simulated node (daysim.h), as its only client sees it: answers, and lists of regions with
 * their access counts. */
#include <errno.h>

#include "daysim.h"

#define LOOKS 20       /* DAMON's looks at a region in one round */
#define LOOK_US 250000 /* time between two looks */
#define SPAN_MS 5000   /* time that a round takes */
#define PARTS 16       /* regions in a slot */
#define PAGE 4096

static bool has_told; /* the client was told that a process has ended */

void day_broker_take(void)
{
    has_told = false;
    if (day_broker.watch.looker == HM_DAMON_BY_KDAMOND) {
        day_broker_answer(0, "");
        return;
    }
    day_broker_answer(ENOENT, "no idle bitmap");
    day_broker_drop();
}

static void add_slot(struct hm_damon_list *list, const struct day_slot *slot, uint64_t first)
{
    uint64_t part = slot->n_pages / PARTS;
    for (uint64_t i = 0; i < PARTS && part > 0; i++) {
        bool is_hot = i * part + part > slot->hot && i * part < slot->hot + slot->n_pages / DAY_HOT_SHARE;
        list->region[list->head.n++] =
            (struct hm_damon_region){.start = (first + i * part) * PAGE,
                                     .end = (first + (i + 1) * part) * PAGE,
                                     .accesses = (uint16_t)(is_hot ? LOOKS - 4 + day_random(4) : day_random(2)),
                                     .looks = LOOKS,
                                     .look_us = LOOK_US};
    }
}

static void send_list(uint32_t process, const struct day_rank *rank)
{
    struct hm_damon_list list = {.process = process,
                                 .rounds = day_broker.rounds,
                                 .span_ms = SPAN_MS,
                                 .lost = day_broker.lost,
                                 .cpu_ns = day_broker.cpu_ns += 1000000};
    for (uint64_t i = 0; i < DAY_SLOTS; i++)
        add_slot(&list, &rank->slot[i], DAY_FIRST_PAGE + i * DAY_SLOT_SPAN);
    size_t size = hm_damon_wire_begin(&list, HM_DAMON_LIST, day_broker.watch.head.generation, list.head.n);
    day_broker_send(&list, size);
}

void day_broker_aggregate(void)
{
    day_broker_serve();
    if (!day_broker_has_client() || day_broker.watch.head.n == 0 || has_told)
        return;
    for (uint32_t i = 0; i < day_broker.watch.head.n; i++) {
        if (!day_rank_find(day_broker.watch.process[i].pid)) {
            day_broker_answer(ESRCH, "a process has ended");
            has_told = true;
            return;
        }
    }
    for (uint32_t i = 0; i < day_broker.watch.head.n; i++)
        send_list(i, day_rank_find(day_broker.watch.process[i].pid));
    day_broker.rounds++;
}
