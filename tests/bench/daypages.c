/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the simulated node (daysim.h): pages in two tiers, and the marks of written pages. Functions named
 * __wrap_... replace real ones at link time. */
#include <errno.h>
#include <numaif.h>
#include <unistd.h>

#include "daysim.h"
#include "migrator/move/present.h"

#define HUGE 512 /* pages */
#define PRESENT (UINT64_C(1) << 63)
#define DIRTY (UINT64_C(1) << 55)
#define PAGE_IS_FILE (UINT64_C(1) << 2) /* a category of what PAGEMAP_SCAN finds: no page here is of a file */
/* The migrator measures a fault on pages of its own: it writes this into them, clears the marks, and writes another
 * value (helpers/migrator/softdirty). */
#define UNTOUCHED 1

uint64_t day_node_pages[DAY_NODES] = {49152, 49152, 262144, 262144};
/* They are longer than real ones: as the migrator may use only so much CPU time, it then looks at fewer pages, and a
 * simulated day is over in a minute. */
struct day_page_costs day_page_costs = {.look_ns = 16000, .move_ns = 16000, .read_ns = 10000};
uint64_t day_pinned = 4001;
static uint64_t used[DAY_NODES];
static pid_t self;

ssize_t __real_pread(int fd, void *out, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at);
long __wrap_move_pages(int pid, unsigned long count, void **pages, const int *to, int *status, int flags);

bool day_pages_has(const struct day_slot *slot, uint64_t page)
{
    return page < slot->n_pages && (slot->kind != DAY_PIECES || page / DAY_FRAGMENT % 2 == 0);
}

uint64_t day_pages_resident(const struct day_rank *rank)
{
    uint64_t n = 0;
    for (int i = 0; i < DAY_SLOTS; i++)
        n += rank->slot[i].kind == DAY_PIECES ? rank->slot[i].n_pages / 2 : rank->slot[i].n_pages;
    return n;
}

uint64_t day_pages_used(int node)
{
    return used[node];
}

/* Choose a node with room: the fast nodes in turn, then the slow ones. A sixteenth of each fast node is kept for memory
 * with `only_fast`. */
static uint8_t choose_node(uint64_t turn, bool only_fast)
{
    for (int i = 0; i < DAY_NODES; i++) {
        uint8_t node = (uint8_t)(i < 2 ? (turn + (uint64_t)i) % 2 : 2 + (turn + (uint64_t)i) % 2);
        if (used[node] + HUGE < day_node_pages[node] - (i < 2 && !only_fast ? day_node_pages[node] / 16 : 0))
            return node;
    }
    errno = ENOMEM;
    day_die("the simulated nodes are full");
}

void day_pages_map(struct day_slot *slot, uint64_t n_pages, enum day_kind kind, bool only_fast)
{
    slot->n_pages = n_pages;
    slot->kind = kind;
    day_kernel_change();
    for (uint64_t page = 0; page < n_pages; page++) {
        if (!day_pages_has(slot, page))
            continue;
        slot->node[page] = page % HUGE ? slot->node[page - page % HUGE] : choose_node(page / HUGE, only_fast);
        used[slot->node[page]]++;
    }
}

void day_pages_unmap(struct day_slot *slot)
{
    day_kernel_change();
    for (uint64_t page = 0; page < slot->n_pages; page++)
        if (day_pages_has(slot, page))
            used[slot->node[page]]--;
    slot->n_pages = 0;
}

static struct day_slot *find_slot(pid_t pid, uint64_t page, uint64_t *within)
{
    uint64_t slot = (page - DAY_FIRST_PAGE) / DAY_SLOT_SPAN;
    *within = (page - DAY_FIRST_PAGE) % DAY_SLOT_SPAN;
    for (int i = 0; i < DAY_RANKS && page >= DAY_FIRST_PAGE && slot < DAY_SLOTS; i++)
        if (day_rank[i].pid == pid)
            return day_pages_has(&day_rank[i].slot[slot], *within) ? &day_rank[i].slot[slot] : NULL;
    return NULL;
}

/* Move a page to a node, with the huge page that it is in. Returns its status. */
static int move_one(struct day_slot *slot, uint64_t page, int to)
{
    uint64_t first = slot->kind == DAY_HUGE ? page / HUGE * HUGE : page, n = slot->kind == DAY_HUGE ? HUGE : 1;
    for (uint64_t i = first; i < first + n; i++) {
        used[slot->node[i]]--;
        used[to]++;
        slot->node[i] = (uint8_t)to;
    }
    day_work(n * day_page_costs.move_ns);
    return to;
}

/* Tell where pages are, or, with `to`, move them. As in the kernel, a pinned page ends the call, which then returns how
 * many pages are left, the pinned one included, and writes no status for them. A full node ends it with ENOMEM. */
long __wrap_move_pages(int pid, unsigned long count, void **pages, const int *to, int *status, int flags)
{
    (void)flags;
    day_kernel_change();
    for (unsigned long i = 0; i < count; i++) {
        uint64_t page;
        struct day_slot *slot = find_slot(pid, (uint64_t)(uintptr_t)pages[i] >> 12, &page);
        day_work(day_page_costs.look_ns);
        if (!slot)
            status[i] = -ENOENT;
        else if (!to || slot->node[page] == to[i])
            status[i] = slot->node[page];
        else if (slot->kind == DAY_SHARED)
            status[i] = -EACCES;
        else if (slot->kind != DAY_HUGE && day_pinned && page % day_pinned == 3)
            return (long)(count - i);
        else if (used[to[i]] + (slot->kind == DAY_HUGE ? HUGE : 1) <= day_node_pages[to[i]])
            status[i] = move_one(slot, page, to[i]);
        else {
            errno = ENOMEM;
            return -1;
        }
    }
    return 0;
}

/* An entry of a page map. In a process of the job, the hot pages of every other slot are marked as written. In this
 * process, a page is marked as written unless its first byte is UNTOUCHED. */
static uint64_t pagemap_entry(pid_t pid, uint64_t page)
{
    uint64_t within;
    if (pid == self)
        return PRESENT | (*(const char *)(uintptr_t)(page << 12) == UNTOUCHED ? 0 : DIRTY);
    const struct day_slot *slot = find_slot(pid, page, &within);
    if (!slot)
        return 0;
    bool is_hot = within - slot->hot < slot->n_pages / DAY_HOT_SHARE;
    return PRESENT | (is_hot && (page / DAY_SLOT_SPAN) % 2 ? DIRTY : 0);
}

int day_pages_scan(pid_t pid, struct hm_present_scan *scan)
{
    struct hm_present_range *range = (struct hm_present_range *)(uintptr_t)scan->vec - 1;
    uint64_t n = 0, n_pages = 0, page = scan->start >> 12, within;
    for (; page < scan->end >> 12; page++) {
        if (!find_slot(pid, page, &within))
            continue;
        bool is_next = n > 0 && range->end == page << 12;
        if (n_pages == scan->max_pages || (!is_next && n == scan->vec_len))
            break;
        if (!is_next) {
            *++range = (struct hm_present_range){.start = page << 12, .categories = scan->return_mask & ~PAGE_IS_FILE};
            n++;
        }
        range->end = (page + 1) << 12;
        n_pages++;
    }
    scan->walk_end = page << 12;
    day_work(day_page_costs.read_ns);
    return (int)n;
}

ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at)
{
    uint64_t *entry = out;
    pid_t pid = day_kernel_pagemap(fd);
    day_kernel_refresh();
    if (pid == 0)
        return __real_pread(fd, out, size, at);
    self = self ? self : getpid();
    for (size_t i = 0; i < size / sizeof(*entry); i++)
        entry[i] = pagemap_entry(pid, (uint64_t)at / sizeof(*entry) + i);
    day_work(day_page_costs.read_ns);
    return (ssize_t)size;
}
