/* SPDX-License-Identifier: Apache-2.0 */
#include "gauge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/perfopen.h"
#include "base/size.h"
#include "base/sysfile.h"

#define NOTHING_YET "Unavailable" /* what resctrl's files say while a group has had no traffic */

/*
 * The most that one last-level cache or memory controller moves in a second. It is more than twice what Intel gives for
 * all HBM of a Xeon Max 9480 (1.64e12). AMD's processors track few resctrl groups at a time. Linux before commit
 * 15292f1b4c55 (October 2025) takes a counter that starts again at 0, as its group is tracked again, for one that has
 * wrapped, and adds up to 2^44 * 64 bytes: this is more than a counter can count in 280 s.
 */
#define MOST_BYTES 4e12

static const struct {
    const char *name, *unit;
    double most_per_s;
} quantities[HM_N_QUANTITIES] = {
    [HM_PACKAGE_ENERGY] = {"package energy", "J", 2000},
    [HM_MEMORY_ENERGY] = {"memory energy", "J", 1000},
    [HM_PLATFORM_ENERGY] = {"platform energy", "J", 20000},
    [HM_READ_BYTES] = {"bytes read", "B", MOST_BYTES},
    [HM_WRITE_BYTES] = {"bytes written", "B", MOST_BYTES},
    [HM_TOTAL_BYTES] = {"bytes of all tiers", "B", MOST_BYTES},
    [HM_LOCAL_BYTES] = {"bytes of the own socket", "B", MOST_BYTES},
};

const char *hm_quantity_name(enum hm_quantity quantity)
{
    return quantities[quantity].name;
}

double hm_quantity_most_per_s(enum hm_quantity quantity)
{
    return quantities[quantity].most_per_s;
}

const char *hm_quantity_unit(enum hm_quantity quantity)
{
    return quantities[quantity].unit;
}

/* Add a gauge. Takes over the descriptor, even where it fails. */
static int add(struct hm_gauges *gauges, const struct hm_gauge *like, int folder, int fd, struct hm_error *error)
{
    if (gauges->n == gauges->room) {
        size_t room = gauges->room ? 2 * gauges->room : 16;
        struct hm_gauge *larger = realloc(gauges->gauge, room * sizeof(*larger));
        if (!larger) {
            if (fd >= 0)
                close(fd);
            return hm_fail(error, ENOMEM, "no memory for the counters");
        }
        gauges->gauge = larger;
        gauges->room = room;
    }
    struct hm_gauge *gauge = &gauges->gauge[gauges->n++];
    *gauge = *like;
    gauge->folder = folder;
    gauge->fd = fd;
    gauge->counter.has_last = gauge->is_from_0;
    return 0;
}

int hm_gauges_add_file(struct hm_gauges *gauges, const struct hm_gauge *like, int folder, struct hm_error *error)
{
    int fd = hm_sysfile_open(folder, like->name);
    if (fd < 0)
        return hm_fail_errno(error, "%s", like->name);
    return add(gauges, like, folder, fd, error);
}

int hm_gauges_add_event(struct hm_gauges *gauges, const struct hm_gauge *like, uint32_t type,
                        const struct hm_pmu_config *config, int cpu, struct hm_error *error)
{
    char paranoid[16], why[HM_ERROR_TEXT];
    struct perf_event_attr attr = {.type = type,
                                   .size = sizeof(attr),
                                   .config = config->word[0],
                                   .config1 = config->word[1],
                                   .config2 = config->word[2],
                                   /* A pinned event counts all the time or not at all: a count that is scaled up is not
                                    * a measurement. */
                                   .pinned = 1};
    if (config->word[3] != 0)
        return hm_fail(error, EINVAL, "%s: its event has bits in config3, which are not supported", like->name);
    int fd = hm_perf_open(&attr, -1, cpu, 0);
    if (fd >= 0)
        return add(gauges, like, -1, fd, error);
    int number = errno;
    hm_perf_explain(number, hm_perf_read_paranoid(paranoid, sizeof(paranoid)), 0, why, sizeof(why));
    return hm_fail(error, number, "%s: %s", like->name, why);
}

int hm_gauges_add_asked(struct hm_gauges *gauges, const struct hm_gauge *like, enum hm_papi_program program, unsigned i,
                        struct hm_error *error)
{
    struct hm_gauge event = *like;
    event.papi = gauges->reader[program];
    event.papi_event = i;
    return add(gauges, &event, -1, -1, error);
}

/* Returns 0, or an errno. */
static int read_file(struct hm_gauge *gauge, uint64_t *raw)
{
    char text[64];
    if (gauge->fd < 0)
        gauge->fd = hm_sysfile_open(gauge->folder, gauge->name);
    if (gauge->fd < 0 || hm_sysfile_read_open(gauge->fd, text, sizeof(text)) != 0)
        return errno;
    if (hm_size_parse_number(text, 0, UINT64_MAX, raw, NULL) == 0)
        return 0;
    snprintf(gauge->said, sizeof(gauge->said), "%.*s", (int)sizeof(gauge->said) - 1, text);
    return EBADMSG;
}

/* Returns 0, or an errno. A pinned event that got no hardware counter reads as end of file, and has to be enabled
 * again. */
static int read_event(const struct hm_gauge *gauge, uint64_t *raw)
{
    ssize_t length = gauge->fd < 0 ? -1 : read(gauge->fd, raw, sizeof(*raw));
    if (length == (ssize_t)sizeof(*raw))
        return 0;
    if (length == 0 && ioctl(gauge->fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
        return EBUSY;
    return gauge->fd >= 0 && length < 0 ? errno : ENODEV;
}

bool hm_gauge_is_silent(const struct hm_gauge *gauge)
{
    return gauge->is_from_0 && gauge->total.n == 0 && gauge->total.problem == HM_COUNTER_VALID;
}

static void read_gauge(struct hm_gauge *gauge, uint64_t now_ns)
{
    uint64_t raw = 0, difference = 0;
    enum hm_counter_state state;
    gauge->said[0] = '\0';
    int number = gauge->papi         ? hm_papi_reader_value(gauge->papi, gauge->papi_event, &raw)
                 : gauge->folder < 0 ? read_event(gauge, &raw)
                                     : read_file(gauge, &raw);
    if (number != 0 && hm_gauge_is_silent(gauge) && strcmp(gauge->said, NOTHING_YET) == 0) {
        gauge->counter.last_ns = now_ns; /* it still stands at 0 */
        return;
    }
    if (number != 0 && gauge->spans_gaps && gauge->counter.has_last) {
        struct hm_counter counter = gauge->counter; /* the gauge's own keeps its last value */
        gauge->gap = hm_counter_lose(&counter, number);
        return;
    }
    gauge->gap = HM_COUNTER_VALID;
    if (number == 0) {
        state = hm_counter_take(&gauge->counter, raw, now_ns, &difference);
    } else {
        state = hm_counter_lose(&gauge->counter, number);
        /* A counter that is gone or forbidden is closed; a file (not an event) is opened again at the next reading. A
         * counter that somebody else uses, or that gave no valid value, stays open. */
        if (gauge->fd >= 0 && state != HM_COUNTER_UNREADABLE && state != HM_COUNTER_TAKEN) {
            close(gauge->fd);
            gauge->fd = -1;
        }
    }
    hm_total_add(&gauge->total, state, difference, gauge->factor);
}

void hm_gauges_read(struct hm_gauges *gauges, uint64_t now_ns)
{
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        if (gauges->reader[i])
            hm_papi_reader_read(gauges->reader[i]);
    hm_gauges_take(gauges, now_ns);
}

void hm_gauges_take(struct hm_gauges *gauges, uint64_t now_ns)
{
    bool has_news = hm_groupwatch_has_news(&gauges->groups);
    for (size_t i = 0; i < gauges->n; i++)
        read_gauge(&gauges->gauge[i], now_ns);
    if (!hm_groupwatch_end_reading(&gauges->groups, has_news))
        return;
    for (size_t i = 0; i < gauges->n; i++)
        if (gauges->gauge[i].is_of_groups)
            hm_total_regroup(&gauges->gauge[i].total);
}

void hm_gauges_clear(struct hm_gauges *gauges)
{
    for (size_t i = 0; i < gauges->n; i++) {
        struct hm_gauge *gauge = &gauges->gauge[i];
        if (gauge->is_from_0)
            continue;
        gauge->total = (struct hm_total){0};
        gauge->counter.has_last = gauge->counter.has_last && gauge->gap == HM_COUNTER_VALID;
    }
}

void hm_gauges_close(struct hm_gauges *gauges, size_t first)
{
    while (gauges->n > first)
        if (gauges->gauge[--gauges->n].fd >= 0)
            close(gauges->gauge[gauges->n].fd);
    if (first > 0)
        return;
    for (int i = 0; i < HM_N_PROGRAMS; i++)
        hm_papi_reader_stop(gauges->reader[i]);
    hm_groupwatch_close(&gauges->groups);
    free(gauges->gauge);
    *gauges = (struct hm_gauges){0};
}
