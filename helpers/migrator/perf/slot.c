/* SPDX-License-Identifier: Apache-2.0 */
#include "slot.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/pagesize.h"
#include "base/perfopen.h"

#define AUX_PAGES_LEAST 2 /* the driver of SPE refuses less */

/* errno after a ring or an area could not be mapped: the kernel says EPERM where the user may lock no more memory. */
static int fail_mapping(void)
{
    errno = errno == EPERM ? ENOMEM : errno;
    return -1;
}

/* Maps the ring, with less data if the limit of locked memory does not allow `data_bytes`. Returns 0, or -1 with errno.
 */
static int map_ring(struct hm_perf_slot *slot, size_t data_bytes)
{
    size_t page = hm_page_size();
    for (size_t pages = hm_most(data_bytes / page, 1); pages > 0; pages /= 2) {
        size_t bytes = (pages + 1) * page;
        void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, slot->fd[0], 0);
        if (map != MAP_FAILED) {
            slot->page = map;
            slot->bytes = bytes;
            return 0;
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    return fail_mapping();
}

/* Maps an AUX area after the ring, a smaller one if need be, and enables its event. Returns 0, or -1 with errno. */
static int map_aux(struct hm_perf_slot *slot, size_t aux_bytes)
{
    size_t page = hm_page_size();
    for (size_t pages = hm_most(aux_bytes / page, AUX_PAGES_LEAST); pages >= AUX_PAGES_LEAST; pages /= 2) {
        size_t bytes = pages * page;
        slot->page->aux_offset = slot->bytes;
        slot->page->aux_size = bytes;
        void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, slot->fd[0], (off_t)slot->bytes);
        if (map != MAP_FAILED) {
            slot->aux = (struct hm_aux){.data = map, .bytes = bytes};
            return ioctl(slot->fd[0], PERF_EVENT_IOC_ENABLE, 0);
        }
        if (errno != EPERM && errno != ENOMEM)
            break;
    }
    return fail_mapping();
}

static void empty(struct hm_perf_slot *slot)
{
    for (int e = 0; e < HM_PERF_EVENTS; e++)
        slot->fd[e] = -1;
    slot->page = NULL;
    slot->aux = (struct hm_aux){0};
}

int hm_perf_slot_adopt(struct hm_perf_slot *slot, int event, size_t data_bytes)
{
    empty(slot);
    slot->fd[0] = event;
    if (ioctl(event, PERF_EVENT_IOC_ID, &slot->id[0]) == 0 && map_ring(slot, data_bytes) == 0)
        return 0;
    int number = errno;
    hm_perf_slot_close(slot);
    errno = number;
    return -1;
}

int hm_perf_slot_open(struct hm_perf_slot *slot, const struct perf_event_attr *attr, int n, pid_t open_pid, int cpu,
                      unsigned long flags, size_t data_bytes, size_t aux_bytes)
{
    empty(slot);
    for (int e = 0; e < n; e++) {
        slot->fd[e] = hm_perf_open(&attr[e], open_pid, cpu, flags);
        if (slot->fd[e] < 0 || ioctl(slot->fd[e], PERF_EVENT_IOC_ID, &slot->id[e]) != 0)
            goto failed;
        if (e == 0 && map_ring(slot, data_bytes) != 0)
            goto failed;
        if (e == 0 && aux_bytes > 0 && map_aux(slot, aux_bytes) != 0)
            goto failed;
        if (e > 0 && ioctl(slot->fd[e], PERF_EVENT_IOC_SET_OUTPUT, slot->fd[0]) != 0)
            goto failed;
    }
    return 0;
failed:;
    int number = errno;
    hm_perf_slot_close(slot);
    errno = number;
    return -1;
}

void hm_perf_slot_close(struct hm_perf_slot *slot)
{
    if (slot->aux.data)
        munmap(slot->aux.data, slot->aux.bytes);
    slot->aux.data = NULL;
    if (slot->page)
        munmap(slot->page, slot->bytes);
    slot->page = NULL;
    for (int e = 0; e < HM_PERF_EVENTS; e++) {
        if (slot->fd[e] >= 0)
            close(slot->fd[e]);
        slot->fd[e] = -1;
    }
}

void hm_perf_slot_drop(const struct hm_perf_slot *slot)
{
    uint64_t head = __atomic_load_n(&slot->page->data_head, __ATOMIC_ACQUIRE);
    __atomic_store_n(&slot->page->data_tail, head, __ATOMIC_RELEASE);
}

void hm_perf_slot_enable(const struct hm_perf_slot *slot, bool is_enabled)
{
    for (int e = 0; e < HM_PERF_EVENTS && slot->fd[e] >= 0; e++)
        (void)ioctl(slot->fd[e], is_enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void hm_perf_slot_set_period(const struct hm_perf_slot *slot, uint64_t period)
{
    for (int e = 0; e < HM_PERF_EVENTS && slot->fd[e] >= 0; e++)
        (void)ioctl(slot->fd[e], PERF_EVENT_IOC_PERIOD, &period);
}

struct hm_perf_heads hm_perf_slot_heads(const struct hm_perf_slot *slot)
{
    struct hm_perf_heads heads = {0};
    /* The kernel writes the record of a chunk before it moves aux_head. So what lies before this aux_head has its
     * records before this data_head, if they were not lost. */
    if (slot->aux.data)
        heads.aux = __atomic_load_n(&slot->page->aux_head, __ATOMIC_ACQUIRE);
    heads.ring = __atomic_load_n(&slot->page->data_head, __ATOMIC_ACQUIRE);
    return heads;
}

static size_t read_aux(struct hm_perf_slot *slot, const struct hm_ring *ring, const struct hm_perf_heads *heads,
                       uint64_t *tail, struct hm_ring_sample *out, size_t room, struct hm_ring_counts *counts)
{
    size_t count = hm_aux_read(&slot->aux, ring, heads->ring, tail, out, room, counts);
    for (size_t i = 0; i < count; i++) {
        out[i].id = slot->id[0];
        out[i].pid = (uint32_t)slot->pid;
        out[i].tid = (uint32_t)slot->target;
    }
    if (count < room) {
        hm_aux_skip(&slot->aux, heads->aux);
        __atomic_store_n(&slot->page->aux_tail, slot->aux.tail, __ATOMIC_RELEASE);
        (void)ioctl(slot->fd[0], PERF_EVENT_IOC_ENABLE, 0);
    }
    return count;
}

size_t hm_perf_slot_read(struct hm_perf_slot *slot, const struct perf_event_attr *attr,
                         const struct hm_perf_heads *heads, struct hm_ring_sample *out, size_t room,
                         struct hm_ring_counts *counts)
{
    size_t control = hm_page_size();
    struct hm_ring ring = {.data = (const char *)slot->page + control,
                           .size = slot->bytes - control,
                           .sample_type = attr->sample_type,
                           .n_regs = (unsigned)__builtin_popcountll(attr->sample_regs_user)};
    uint64_t tail = slot->page->data_tail; /* only this process writes it */
    size_t count = slot->aux.data ? read_aux(slot, &ring, heads, &tail, out, room, counts)
                                  : hm_ring_read(&ring, heads->ring, &tail, out, room, counts);
    __atomic_store_n(&slot->page->data_tail, tail, __ATOMIC_RELEASE);
    return count;
}
