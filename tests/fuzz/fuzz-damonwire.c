/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parsers of messages from the DAMON broker's clients, of the broker's own messages, of the format file of
 * DAMON's tracepoint, and of the tracepoint's records. The first byte chooses one. What is accepted must be in
 * range. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "migrator/damon/gathering.h"
#include "migrator/damon/heat.h"
#include "migrator/damon/wire.h"

#define RING 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_list(void *data, const struct hm_damon_gathering *list)
{
    (void)data;
    if (list->n == 0 || list->n > HM_DAMON_MOST_REGIONS || list->n != list->wanted)
        abort();
    for (uint32_t i = 0; i < list->n; i++)
        if (list->region[i].end <= list->region[i].start || (i > 0 && list->region[i].start < list->region[i - 1].end))
            abort();
}

static void use_ring(const uint8_t *data, size_t size)
{
    static struct hm_damon_gathering gathering;
    const struct hm_damon_layout layout = {.id = 1, .field = {{8, 8}, {16, 4}, {24, 8}, {32, 8}, {40, 4}}};
    uint8_t ring[RING] = {0};
    uint64_t lost = 0;
    memset(&gathering, 0, sizeof(gathering));
    memcpy(ring, data, size < RING ? size : RING);
    if (hm_damon_gathering_read(&layout, ring, RING, 24, 24 + size, &gathering, &lost, use_list, NULL) != 24 + size)
        abort();
}

/* A watch message that is accepted names processes, each once and never process 1, with ranges of whole pages in
 * ascending order. */
static void use_watch(const struct hm_damon_watch *watch)
{
    if (watch->interval_ms < 1000 || watch->interval_ms > 3600000 || watch->budget == 0 || watch->budget > 1000000 ||
        watch->head.n > HM_DAMON_TARGETS)
        abort();
    for (uint32_t i = 0; i < watch->head.n; i++) {
        const struct hm_damon_process *process = &watch->process[i];
        for (uint32_t other = 0; other < i; other++)
            if (watch->process[other].pid == process->pid)
                abort();
        if (process->pid <= 1 || process->n_ranges == 0 || process->n_ranges > HM_DAMON_RANGES)
            abort();
        for (uint32_t r = 0; r < process->n_ranges; r++)
            if (process->range[r].start % 4096 != 0 || process->range[r].end % 4096 != 0 ||
                process->range[r].end <= process->range[r].start ||
                (r > 0 && process->range[r].start < process->range[r - 1].end))
                abort();
    }
}

/* A question for events that is accepted names threads, each once and never process 1. */
static void use_borrow(const struct hm_damon_borrow *borrow)
{
    if (borrow->head.n == 0 || borrow->head.n > HM_DAMON_THREADS)
        abort();
    for (uint32_t i = 0; i < borrow->head.n; i++)
        for (uint32_t other = 0; other <= i; other++)
            if (borrow->thread[i].tid <= 1 || (other < i && borrow->thread[other].tid == borrow->thread[i].tid))
                abort();
}

static void use_lent(const union hm_damon_message *message)
{
    if (message->head.kind == HM_DAMON_ANSWER)
        return;
    if (message->head.kind != HM_DAMON_LENT || message->head.n == 0 || message->head.n > HM_DAMON_THREADS)
        abort();
    for (uint32_t i = 0; i < message->head.n; i++)
        if (message->lent.number[i] > 4095)
            abort();
}

static void use_reply(const union hm_damon_message *message)
{
    const struct hm_damon_list *list = &message->list;
    if (message->head.kind != HM_DAMON_LIST)
        return;
    for (uint32_t i = 0; i < list->head.n; i++) {
        struct hm_observation heat = hm_damon_heat(&list->region[i], list->span_ms * 1e-3, HM_DAMON_TARGETS - 1);
        if (heat.n_pages == 0 || !(heat.reads >= 0) || !(heat.excess >= 0) || !isfinite(heat.excess) ||
            HM_PAGE_SPACE(heat.page) != HM_DAMON_TARGETS - 1)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_damon_layout layout;
    if (size == 0)
        return 0;
    char *copy = input_text(data + 1, size - 1);
    if (!copy)
        return 0;
    if (data[0] % 4 == 0) {
        if (hm_damon_wire_check_watch(copy, size - 1, NULL) == 0)
            use_watch((const struct hm_damon_watch *)(const void *)copy);
        if (hm_damon_wire_check_borrow(copy, size - 1, NULL) == 0)
            use_borrow((const struct hm_damon_borrow *)(const void *)copy);
    } else if (data[0] % 4 == 1) {
        if (hm_damon_wire_check_reply(copy, size - 1, NULL) == 0)
            use_reply((const union hm_damon_message *)(const void *)copy);
        if (hm_damon_wire_check_lent(copy, size - 1, NULL) == 0)
            use_lent((const union hm_damon_message *)(const void *)copy);
    } else if (data[0] % 4 == 2) {
        hm_damon_layout_parse(copy, &layout, NULL);
    } else {
        use_ring(data + 1, size - 1);
    }
    free(copy);
    return 0;
}
