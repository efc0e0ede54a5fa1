/* SPDX-License-Identifier: Apache-2.0 */
#include "tracepoint.h"

#include <errno.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/pagesize.h"
#include "caps.h"

#define RING_BYTES                                                                                                     \
    ((size_t)512                                                                                                       \
     << 10) /* pages, a power of two of them: 7,000 records: two aggregations with nearly the most regions */
#define FORMAT "events/damon/damon_aggregated/format"

static int open_tracefs(void)
{
    int context = (int)syscall(SYS_fsopen, "tracefs", FSOPEN_CLOEXEC);
    if (context < 0)
        return -1;
    int mount = -1;
    if (syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
        mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
    close(context);
    return mount;
}

int hm_damon_tracepoint_find(struct hm_damon_layout *layout, struct hm_error *error)
{
    char text[4096];
    int tracefs = open_tracefs();
    if (tracefs < 0)
        return hm_fail_errno(error, "cannot open the kernel's tracefs for DAMON's tracepoint");
    ssize_t length = hm_file_read_at(tracefs, FORMAT, text, sizeof(text));
    close(tracefs);
    if (length >= 0)
        return hm_damon_layout_parse(text, layout, error);
    if (errno == ENOENT)
        return hm_fail_errno(error, "this kernel has no tracepoint damon:damon_aggregated (Linux 5.15 and later)");
    return hm_fail_errno(error, "cannot read the tracepoint's " FORMAT);
}

int hm_damon_tracepoint_open(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                             pid_t kdamond, struct hm_error *error)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_TRACEPOINT,
                                         .size = sizeof(attributes),
                                         .config = layout->id,
                                         .sample_period = 1,
                                         .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
                                         .use_clockid = 1,
                                         .clockid = CLOCK_MONOTONIC,
                                         .watermark = 1,
                                         .wakeup_watermark = RING_BYTES / 2};
    *tracepoint = (struct hm_damon_tracepoint){.fd = -1};
    tracepoint->gathering = calloc(1, sizeof(*tracepoint->gathering));
    if (!tracepoint->gathering)
        return hm_fail_errno(error, "cannot follow kdamond %d", (int)kdamond);
    hm_damon_caps_raise();
    tracepoint->fd = (int)syscall(SYS_perf_event_open, &attributes, kdamond, -1, -1, PERF_FLAG_FD_CLOEXEC);
    hm_damon_caps_lower();
    tracepoint->map = tracepoint->fd < 0 ? MAP_FAILED
                                         : mmap(NULL, hm_page_size() + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                                                tracepoint->fd, 0);
    if (tracepoint->map != MAP_FAILED)
        return 0;
    hm_fail_errno(error, "cannot follow kdamond %d by perf", (int)kdamond);
    tracepoint->map = NULL;
    hm_damon_tracepoint_close(tracepoint);
    return -1;
}

void hm_damon_tracepoint_read(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                              hm_damon_gathering_sink *sink, void *data)
{
    struct perf_event_mmap_page *page = tracepoint->map;
    if (!page)
        return;
    uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail =
        hm_damon_gathering_read(layout, (const uint8_t *)tracepoint->map + hm_page_size(), RING_BYTES, page->data_tail,
                                head, tracepoint->gathering, &tracepoint->lost, sink, data);
    __atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
}

int hm_damon_tracepoint_keep(const struct hm_damon_layout *layout)
{
    /* It is of the broker's own process, which never comes by the tracepoint, and is never on. */
    struct perf_event_attr attributes = {.type = PERF_TYPE_TRACEPOINT,
                                         .size = sizeof(attributes),
                                         .config = layout->id,
                                         .sample_period = 1,
                                         .disabled = 1};
    if (layout->id == 0)
        return -1;
    hm_damon_caps_raise();
    int fd = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    hm_damon_caps_lower();
    return fd;
}

void hm_damon_tracepoint_close(struct hm_damon_tracepoint *tracepoint)
{
    int number = errno;
    if (tracepoint->map)
        munmap(tracepoint->map, hm_page_size() + RING_BYTES);
    if (tracepoint->fd >= 0)
        close(tracepoint->fd);
    free(tracepoint->gathering);
    *tracepoint = (struct hm_damon_tracepoint){.fd = -1};
    errno = number;
}
