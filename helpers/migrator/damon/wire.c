/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <errno.h>
#include <string.h>

#include "base/pagesize.h"

#define MAX_ADDRESS (UINT64_C(1) << 57)
#define MAX_ERRNO 4095 /* as the kernel has it */

static const struct {
    size_t fixed, each; /* bytes of the fixed part, and of each entry */
    uint32_t most;      /* most entries */
} layouts[] = {
    [HM_DAMON_WATCH] = {offsetof(struct hm_damon_watch, process), sizeof(struct hm_damon_process), HM_DAMON_TARGETS},
    [HM_DAMON_ANSWER] = {sizeof(struct hm_damon_answer), 0, HM_DAMON_TARGETS},
    [HM_DAMON_LIST] = {offsetof(struct hm_damon_list, region), sizeof(struct hm_damon_region), HM_DAMON_REGIONS},
    [HM_DAMON_BORROW] = {offsetof(struct hm_damon_borrow, thread), sizeof(struct hm_damon_thread), HM_DAMON_THREADS},
    [HM_DAMON_LENT] = {offsetof(struct hm_damon_lent, number), sizeof(uint32_t), HM_DAMON_THREADS},
};

#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

size_t hm_damon_wire_size(enum hm_damon_kind kind, uint32_t n)
{
    if (kind < HM_DAMON_WATCH || kind >= LAYOUTS || n > layouts[kind].most)
        return 0;
    return layouts[kind].fixed + n * layouts[kind].each;
}

size_t hm_damon_wire_begin(void *message, enum hm_damon_kind kind, uint32_t generation, uint32_t n)
{
    struct hm_damon_head head = {.magic = HM_DAMON_MAGIC, .kind = kind, .generation = generation, .n = n};
    memcpy(message, &head, sizeof(head));
    return hm_damon_wire_size(kind, n);
}

static int check_head(const void *message, size_t size, struct hm_damon_head *head, struct hm_error *error)
{
    if (size < sizeof(*head))
        return hm_fail(error, EBADMSG, "a message of %zu bytes is too short for a head of %zu", size, sizeof(*head));
    memcpy(head, message, sizeof(*head));
    if (head->magic != HM_DAMON_MAGIC)
        return hm_fail(error, EBADMSG, "magic %#x: this version speaks %#x", head->magic, HM_DAMON_MAGIC);
    if (hm_damon_wire_size(head->kind, head->n) != size)
        return hm_fail(error, EBADMSG, "no message has kind %u, %u entries and %zu bytes", head->kind, head->n, size);
    return 0;
}

static int check_ranges(const struct hm_damon_process *process, struct hm_error *error)
{
    uint64_t before = 0;
    if (process->n_ranges == 0 || process->n_ranges > HM_DAMON_RANGES)
        return hm_fail(error, EINVAL, "process %d: %u ranges: use 1 to %d", process->pid, process->n_ranges,
                       HM_DAMON_RANGES);
    for (uint32_t i = 0; i < process->n_ranges; i++) {
        const struct hm_damon_range *range = &process->range[i];
        if (range->start < before || range->end <= range->start || range->end > MAX_ADDRESS ||
            (range->start | range->end) % hm_page_size() != 0)
            return hm_fail(error, EINVAL, "process %d: range %u from %#llx to %#llx: not pages in ascending order",
                           process->pid, i, (unsigned long long)range->start, (unsigned long long)range->end);
        before = range->end;
    }
    return 0;
}

static int check_process(const struct hm_damon_watch *watch, uint32_t at, struct hm_error *error)
{
    const struct hm_damon_process *process = &watch->process[at];
    if (process->pid <= 1)
        return hm_fail(error, EINVAL, "process %d: not a process of a job", process->pid);
    if (check_ranges(process, error) != 0)
        return -1;
    for (uint32_t other = 0; other < at; other++)
        if (watch->process[other].pid == process->pid)
            return hm_fail(error, EINVAL, "process %d is named twice", process->pid);
    return 0;
}

int hm_damon_wire_check_watch(const void *message, size_t size, struct hm_error *error)
{
    struct hm_damon_head head;
    const struct hm_damon_watch *watch = message;
    if (check_head(message, size, &head, error) != 0)
        return -1;
    if (head.kind != HM_DAMON_WATCH)
        return hm_fail(error, EBADMSG, "kind %u: a client sends only kinds %u and %u", head.kind, HM_DAMON_WATCH,
                       HM_DAMON_BORROW);
    if (watch->interval_ms < HM_DAMON_MIN_INTERVAL_MS || watch->interval_ms > HM_DAMON_MAX_INTERVAL_MS)
        return hm_fail(error, EINVAL, "interval %u ms: use %u to %u", watch->interval_ms, HM_DAMON_MIN_INTERVAL_MS,
                       HM_DAMON_MAX_INTERVAL_MS);
    if (watch->budget < HM_DAMON_MIN_BUDGET || watch->budget > HM_DAMON_MAX_BUDGET)
        return hm_fail(error, EINVAL, "budget %u millionths of a CPU: use %u to %u", watch->budget, HM_DAMON_MIN_BUDGET,
                       HM_DAMON_MAX_BUDGET);
    if (watch->looker > HM_DAMON_BY_BITMAP)
        return hm_fail(error, EINVAL, "looker %u: use 0 to %d", watch->looker, HM_DAMON_BY_BITMAP);
    for (uint32_t at = 0; at < head.n; at++)
        if (check_process(watch, at, error) != 0)
            return -1;
    return 0;
}

bool hm_damon_wire_is_borrow(const void *message, size_t size)
{
    const struct hm_damon_head *head = message;
    return size >= sizeof(*head) && head->kind == HM_DAMON_BORROW;
}

int hm_damon_wire_check_borrow(const void *message, size_t size, struct hm_error *error)
{
    struct hm_damon_head head;
    const struct hm_damon_borrow *borrow = message;
    if (check_head(message, size, &head, error) != 0)
        return -1;
    if (head.kind != HM_DAMON_BORROW || head.n == 0)
        return hm_fail(error, EBADMSG, "kind %u with %u threads: it asks for no events", head.kind, head.n);
    for (uint32_t at = 0; at < head.n; at++) {
        int32_t tid = borrow->thread[at].tid;
        if (tid <= 1)
            return hm_fail(error, EINVAL, "thread %d: not a thread of a job", tid);
        for (uint32_t other = 0; other < at; other++)
            if (borrow->thread[other].tid == tid)
                return hm_fail(error, EINVAL, "thread %d is named twice", tid);
    }
    return 0;
}

static int check_list(const struct hm_damon_list *list, struct hm_error *error)
{
    uint64_t before = 0;
    if (list->process >= HM_DAMON_TARGETS)
        return hm_fail(error, EBADMSG, "a list of process %u: use 0 to %d", list->process, HM_DAMON_TARGETS - 1);
    if (list->way > HM_DAMON_BURSTS)
        return hm_fail(error, EBADMSG, "a list of way %u: use 0 to %d", list->way, HM_DAMON_BURSTS);
    if (list->span_ms == 0)
        return hm_fail(error, EBADMSG, "a list of 0 ms: use 1 or more");
    for (uint32_t at = 0; at < list->head.n; at++) {
        const struct hm_damon_region *region = &list->region[at];
        if (region->start < before || region->end <= region->start || region->end > MAX_ADDRESS)
            return hm_fail(error, EBADMSG, "region %u from %#llx to %#llx: not in ascending order", at,
                           (unsigned long long)region->start, (unsigned long long)region->end);
        if (region->look_us == 0)
            return hm_fail(error, EBADMSG, "region %u: 0 us between two looks: use 1 or more", at);
        if (region->looks == 0 || region->accesses > region->looks)
            return hm_fail(error, EBADMSG,
                           "region %u: %u of %u looks found an access: use 1 look or more, and at most that"
                           " number of accesses",
                           at, region->accesses, region->looks);
        before = region->end;
    }
    return 0;
}

int hm_damon_wire_check_reply(const void *message, size_t size, struct hm_error *error)
{
    struct hm_damon_head head;
    const struct hm_damon_answer *answer = message;
    if (check_head(message, size, &head, error) != 0)
        return -1;
    if (head.kind == HM_DAMON_LIST)
        return check_list(message, error);
    if (head.kind != HM_DAMON_ANSWER)
        return hm_fail(error, EBADMSG, "kind %u: a broker sends only kinds %u and %u", head.kind, HM_DAMON_ANSWER,
                       HM_DAMON_LIST);
    if (!memchr(answer->text, '\0', sizeof(answer->text)) || (answer->number != 0) != (answer->text[0] != '\0'))
        return hm_fail(error, EBADMSG, "an answer's text does not go with its number %u", answer->number);
    return 0;
}

int hm_damon_wire_check_lent(const void *message, size_t size, struct hm_error *error)
{
    struct hm_damon_head head;
    const struct hm_damon_lent *lent = message;
    if (check_head(message, size, &head, error) != 0)
        return -1;
    if (head.kind == HM_DAMON_ANSWER)
        return hm_damon_wire_check_reply(message, size, error);
    if (head.kind != HM_DAMON_LENT || head.n == 0)
        return hm_fail(error, EBADMSG, "kind %u with %u threads: it lends no events", head.kind, head.n);
    for (uint32_t at = 0; at < head.n; at++)
        if (lent->number[at] > MAX_ERRNO)
            return hm_fail(error, EBADMSG, "thread %u: no errno is %u", at, lent->number[at]);
    return 0;
}
