/* SPDX-License-Identifier: Apache-2.0 */
/* The perf events of the simulated node (daysim.h), whose processor samples addresses. Each event is a pipe, for
 * poll(2), and its records go to a ring of its own or to another event's. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/perfopen.h"
#include "daysim.h"
#include "migrator/move/present.h"
#include "migrator/perf/table.h"

#define EVENTS 512
#define PAGE 4096
#define USUAL_PERIOD 65536 /* accesses for each sample of a hardware event */
#define WORDS 6            /* words of the longest record */
#define ALL (-1)
#define ENDED (-2)

struct event {
    int fd, peer; /* both ends of a pipe; peer 0: none */
    pid_t thread; /* ALL: all processes; ENDED: the thread has ended */
    struct perf_event_attr attr;
    uint64_t period;
    struct event *output; /* the event whose ring takes its records */
    struct perf_event_mmap_page *ring;
    size_t bytes; /* size of the ring's data */
    uint64_t lost;
    bool is_readable;
    double due; /* samples that are due; less than one between two calls */
};

static struct event events[EVENTS];
static bool is_refused;

int __wrap_hm_perf_parse_cpu(const char *cpuinfo, struct hm_perf_cpu *cpu);
int __wrap_hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);
int __wrap_ioctl(int fd, unsigned long request, ...);
void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at);

int __wrap_hm_perf_parse_cpu(const char *cpuinfo, struct hm_perf_cpu *cpu)
{
    (void)cpuinfo;
    *cpu = (struct hm_perf_cpu){"GenuineIntel", 6, 0x8f, false}; /* Sapphire Rapids */
    return 0;
}

static struct event *find(int fd)
{
    for (int i = 0; i < EVENTS; i++)
        if (events[i].peer > 0 && events[i].fd == fd)
            return &events[i];
    return NULL;
}

static const struct day_rank *rank_of(pid_t thread)
{
    for (int i = 0; i < DAY_RANKS; i++) {
        if (day_rank[i].pid == thread)
            return &day_rank[i];
        for (unsigned t = 0; t < day_rank[i].n_threads; t++)
            if (day_rank[i].thread[t] == thread)
                return &day_rank[i];
    }
    return NULL;
}

void day_perf_refuse(bool refuses)
{
    is_refused = refuses;
}

/* Hardware events count single threads only, software events also all threads of a cgroup. */
int __wrap_hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
    bool is_software = attr->type == PERF_TYPE_SOFTWARE, is_wide = pid == -1 || flags & PERF_FLAG_PID_CGROUP;
    int pipes[2];
    struct event *free_one = NULL;
    for (int i = 0; i < EVENTS && !free_one; i++)
        free_one = events[i].peer > 0 ? NULL : &events[i];
    (void)cpu;
    errno = is_wide && !is_software                ? EACCES
            : is_refused && !is_software           ? EBUSY
            : !is_wide && pid > 0 && !rank_of(pid) ? ESRCH
            : !free_one                            ? ENOSPC
                                                   : 0;
    if (errno || pipe2(pipes, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    *free_one = (struct event){.fd = pipes[0],
                               .peer = pipes[1],
                               .thread = is_wide ? ALL : pid,
                               .attr = *attr,
                               .period = attr->sample_period,
                               .output = free_one};
    return pipes[0];
}

void day_perf_close(int fd)
{
    struct event *event = find(fd);
    if (!event)
        return;
    int peer = event->peer;
    *event = (struct event){.fd = -1};
    close(peer);
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    struct event *event = find(fd);
    if (!event && request == HM_PRESENT_SCAN)
        return day_pages_scan(day_kernel_pagemap(fd), argument);
    if (!event) {
        errno = ENOTTY;
        return -1;
    }
    if (request == PERF_EVENT_IOC_ID)
        *(uint64_t *)argument = (uint64_t)(event - events) + 1;
    else if (request == PERF_EVENT_IOC_SET_OUTPUT)
        event->output = find((int)(intptr_t)argument);
    else if (request == PERF_EVENT_IOC_PERIOD)
        event->period = *(uint64_t *)argument;
    return 0;
}

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at)
{
    struct event *event = fd >= 0 ? find(fd) : NULL;
    if (!event)
        return __real_mmap(address, size, protection, flags, fd, at);
    void *map = __real_mmap(NULL, size, protection, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (map != MAP_FAILED) {
        event->ring = map;
        event->bytes = size - PAGE;
    }
    return map;
}

/* Put a record into the ring. Returns false where there is no room. */
static bool put(struct event *event, const uint64_t *word, size_t n)
{
    uint64_t head = event->ring->data_head;
    if (head - event->ring->data_tail + n * sizeof(*word) > event->bytes)
        return false;
    for (size_t i = 0; i < n; i++)
        memcpy((char *)event->ring + PAGE + (head + i * sizeof(*word)) % event->bytes, &word[i], sizeof(*word));
    event->ring->data_head = head + n * sizeof(*word);
    if (!event->is_readable && event->ring->data_head - event->ring->data_tail > event->bytes / 2)
        event->is_readable = write(event->peer, "", 1) == 1;
    return true;
}

static uint64_t header(uint32_t type, size_t n)
{
    struct perf_event_header fields = {type, PERF_RECORD_MISC_USER, (uint16_t)(n * sizeof(uint64_t))};
    uint64_t word;
    memcpy(&word, &fields, sizeof(word));
    return word;
}

static void put_sample(struct event *event, const struct day_rank *rank, uint64_t address)
{
    uint32_t ids[2] = {(uint32_t)rank->pid, (uint32_t)(event->thread > 0 ? event->thread : rank->pid)};
    uint64_t word[WORDS], id = (uint64_t)(event - events) + 1;
    size_t n = 1;
    struct event *to = event->output;
    uint64_t lost[] = {header(PERF_RECORD_LOST, 3), id, to->lost};
    if (to->lost > 0 && put(to, lost, 3))
        to->lost = 0;
    word[n++] = id;
    memcpy(&word[n++], ids, sizeof(word[0]));
    word[n++] = address;
    if (event->attr.sample_type & PERF_SAMPLE_PERIOD)
        word[n++] = event->period;
    word[n++] = 0; /* data source: unknown */
    word[0] = header(PERF_RECORD_SAMPLE, n);
    to->lost += to->lost > 0 || !put(to, word, n);
}

/* Add an event's samples of a rank's accesses: as many as for one of the rank's threads, even if the event is of all
 * threads. A hardware event samples stores where its records go to another event's ring, else loads; a software event
 * samples both. */
static void sample_event(struct event *event, const struct day_rank *rank, double accesses)
{
    bool is_software = event->attr.type == PERF_TYPE_SOFTWARE, is_stores = event->output != event;
    double usual_period = is_software ? 1 : USUAL_PERIOD;
    event->due += accesses * usual_period / (double)event->period / (rank->n_threads + 1);
    for (; event->due >= 1; event->due--) {
        bool is_write;
        uint64_t address = day_address(rank, &is_write);
        if (address && (is_software || is_write == is_stores))
            put_sample(event, rank, address);
    }
}

void day_perf_sample(unsigned count, bool is_throttled)
{
    for (int i = 0; i < EVENTS; i++) {
        struct event *event = &events[i];
        if (event->peer <= 0 || !event->output || !event->output->ring)
            continue;
        uint64_t throttle[] = {header(PERF_RECORD_THROTTLE, 4), 0, (uint64_t)i + 1, (uint64_t)i + 1};
        if (is_throttled)
            put(event->output, throttle, 4);
        const struct day_rank *one = event->thread > 0 ? rank_of(event->thread) : NULL;
        if (one)
            sample_event(event, one, count);
        for (int r = 0; r < DAY_RANKS && event->thread == ALL; r++)
            if (day_rank[r].pid)
                sample_event(event, &day_rank[r], (double)count / DAY_CPUS);
    }
}

void day_perf_settle(void)
{
    char byte;
    for (int i = 0; i < EVENTS; i++)
        if (events[i].is_readable && read(events[i].fd, &byte, 1) == 1)
            events[i].is_readable = false;
}

void day_perf_end_thread(pid_t thread)
{
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].peer <= 0 || events[i].thread != thread)
            continue;
        /* Replace the other end of the pipe: the reader sees a hang-up, as for an event whose thread has ended. */
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0 || dup3(null, events[i].peer, O_CLOEXEC) < 0)
            day_die("cannot end an event");
        close(null);
        events[i].thread = ENDED;
    }
}
