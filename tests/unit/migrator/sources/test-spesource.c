/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the source perf on an Arm processor with SPE. Below the calls perf_event_open, mmap and ioctl everything is
 * made up: a control page, a ring and an AUX area, into which the test writes as kernel and hardware would. Two
 * children are watched; what is written is of the second one. The last test has samples of the kernel's instead.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "fakeperf.h"
#include "pagechild.h"
#include "unit/lib/rows.h"
#include "unit/migrator/perf/spebytes.h"

#define SEEN 512

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at);
int __wrap_ioctl(int fd, unsigned long request, ...);

static struct {
    struct perf_event_mmap_page *page;
    unsigned char *ring, *area;
    size_t ring_bytes, area_bytes, area_most; /* an area that is larger than area_most is refused */
    int enabled, areas;                       /* calls that enable an event; areas mapped */
    uint64_t period;
} kernel;

static struct {
    struct hm_observation observation[SEEN];
    size_t n;
} seen;

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at)
{
    if (fd < 0)
        return __real_mmap(address, size, protection, flags, fd, at);
    if (at > 0 && size > kernel.area_most) {
        errno = EPERM;
        return MAP_FAILED;
    }
    void *map = __real_mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_true(map != MAP_FAILED && protection == (PROT_READ | PROT_WRITE) && flags == MAP_SHARED);
    if (at == 0) {
        kernel.page = map;
        kernel.ring = (unsigned char *)map + page;
        kernel.ring_bytes = size - page;
    } else {
        assert_int_equal(at, kernel.page->aux_offset);
        assert_int_equal(at, page + kernel.ring_bytes); /* right after the ring */
        assert_int_equal(size, kernel.page->aux_size);
        assert_int_equal(kernel.enabled, kernel.areas++); /* enabled before its area is there, it would stop again */
        kernel.area = map;
        kernel.area_bytes = size;
    }
    return map;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    va_start(list, request);
    uint64_t *argument = va_arg(list, uint64_t *);
    va_end(list);
    assert_true(fd >= 0);
    if (request == PERF_EVENT_IOC_ID)
        *argument = 7;
    else if (request == PERF_EVENT_IOC_PERIOD)
        kernel.period = *argument;
    else if (request == PERF_EVENT_IOC_ENABLE)
        kernel.enabled++;
    return 0;
}

static void put_record(uint32_t type, uint16_t misc, const void *data, size_t size)
{
    struct perf_event_header header = {type, misc, (uint16_t)(sizeof(header) + size)};
    const unsigned char *part[] = {(const unsigned char *)&header, data};
    for (size_t i = 0; i < sizeof(header) + size; i++)
        kernel.ring[kernel.page->data_head++ % kernel.ring_bytes] =
            i < sizeof(header) ? part[0][i] : part[1][i - sizeof(header)];
}

static void put_chunk(uint64_t offset, uint64_t size, uint64_t flags)
{
    uint64_t word[] = {offset, size, flags};
    put_record(PERF_RECORD_AUX, 0, word, sizeof(word));
}

static void fill(const unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        kernel.area[kernel.page->aux_head++ % kernel.area_bytes] = bytes[i];
}

static void put_bytes(const unsigned char *bytes, size_t size, uint64_t flags)
{
    put_chunk(kernel.page->aux_head, size, flags);
    fill(bytes, size);
}

static void take(void *data, const struct hm_observation *observations, size_t count)
{
    (void)data;
    assert_true(seen.n + count <= SEEN);
    memcpy(&seen.observation[seen.n], observations, count * sizeof(*observations));
    seen.n += count;
}

struct watching {
    struct child child[2];
    struct hm_source *source;
    struct hm_ranks ranks;
};

/* Opens the source and watches the children, which have one thread each. */
static int watch(struct watching *watching, struct hm_error *error)
{
    char why[HM_WARNING];
    start(&watching->child[0]);
    start(&watching->child[1]);
    pid_t pid[] = {watching->child[0].pid, watching->child[1].pid};
    assert_int_equal(hm_ranks_init_list(&watching->ranks, pid, 2, getuid(), error), 0);
    assert_int_equal(hm_ranks_update(&watching->ranks, error), 2);
    watching->source = hm_source_open("perf", &usual, why, error);
    assert_non_null(watching->source);
    return watching->source->update(watching->source, &watching->ranks, NULL, error);
}

static void read_all(struct watching *watching)
{
    struct hm_error error = {""};
    seen.n = 0;
    if (watching->source->read(watching->source, &watching->ranks, take, NULL, &error) != 0)
        fail_msg("%s", error.text);
    assert_int_equal(kernel.page->data_tail, kernel.page->data_head);
    assert_int_equal(kernel.page->aux_tail, kernel.page->aux_head);
}

static void end(struct watching *watching)
{
    watching->source->close(watching->source);
    hm_ranks_free(&watching->ranks);
    finish(&watching->child[1]); /* it has the other's pipes, too */
    finish(&watching->child[0]);
}

static int reset(void **state)
{
    memset(&kernel, 0, sizeof(kernel));
    kernel.area_most = SIZE_MAX;
    fake_perf_reset(state);
    fake.cpu = fake_arm;
    return 0;
}

/* Loads and stores become observations of the right pages; what is not of user space is dropped. */
static void test_observations(void **state)
{
    (void)state;
    static const unsigned char bytes[] = {PC_USER,
                                          LOAD,
                                          RETIRED,
                                          LATENCY(500),
                                          TAGGED(0x7fff12345678, 0x12),
                                          END,
                                          PADS,
                                          STORE,
                                          RETIRED,
                                          DATA(0xaaaa00001ff8),
                                          END,
                                          PC_KERNEL,
                                          LOAD,
                                          RETIRED,
                                          DATA(0x7fff00000000),
                                          END,
                                          STORE,
                                          RETIRED,
                                          DATA(0xfffc2007c226c0),
                                          END,
                                          BRANCH,
                                          RETIRED,
                                          END};
    struct watching watching;
    struct hm_error error = {""};
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(watch(&watching, &error), 0);
    assert_int_equal(kernel.enabled, 2);
    assert_non_null(strstr(watching.source->state.how, "packets of SPE"));
    put_bytes(bytes, sizeof(bytes), 0);
    read_all(&watching);
    assert_int_equal(seen.n, 2);
    assert_int_equal(HM_PAGE_SPACE(seen.observation[0].page), 1); /* the second child's */
    assert_int_equal(HM_PAGE_NUMBER(seen.observation[0].page), 0x7fff12345678 / page);
    assert_int_equal(HM_PAGE_NUMBER(seen.observation[1].page), 0xaaaa00001ff8 / page);
    assert_true(seen.observation[0].reads == 1 && seen.observation[0].writes == 0);
    assert_true(seen.observation[1].reads == 0 && seen.observation[1].writes == 1);
    assert_true(seen.observation[0].knows_writes && seen.observation[1].knows_writes);
    assert_int_equal(watching.source->state.samples, 2);
    assert_int_equal(watching.source->state.lost, 0);
    assert_int_equal(kernel.enabled, 4);
    read_all(&watching);
    assert_int_equal(seen.n, 0);
    end(&watching);
}

/* Many turns of the area, more records than are read together, and pads at its end, as the driver writes them. */
static void test_turns(void **state)
{
    (void)state;
    static const unsigned char load[64] = {LOAD, RETIRED, DATA(0x7fff00001000), END};
    static const unsigned char pads[64] = {0};
    struct watching watching;
    struct hm_error error = {""};
    assert_int_equal(watch(&watching, &error), 0);
    for (int turn = 0; turn < 10; turn++) {
        put_chunk(kernel.page->aux_head, 300 * sizeof(load), 0);
        for (int i = 0; i < 300; i++)
            fill(load, sizeof(load));
        fill(pads, sizeof(pads)); /* no record tells of them */
        read_all(&watching);
        assert_int_equal(seen.n, 300);
    }
    assert_true(kernel.page->aux_head > kernel.area_bytes);
    assert_int_equal(watching.source->state.samples, 10 * 300);
    end(&watching);
}

/* The hardware had no room, or two samples at once; or the ring had no room for the record of a chunk. */
static void test_lost(void **state)
{
    (void)state;
    static const unsigned char load[] = {LOAD, RETIRED, DATA(0x7fff00001000), END};
    struct watching watching;
    struct hm_error error = {""};
    assert_int_equal(watch(&watching, &error), 0);
    put_bytes(load, sizeof(load) - 4, PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
    put_bytes(load, sizeof(load), PERF_AUX_FLAG_COLLISION);
    put_chunk(kernel.page->aux_head, 0, PERF_AUX_FLAG_TRUNCATED);
    int before = kernel.enabled;
    read_all(&watching);
    assert_int_equal(seen.n, 1);
    assert_int_equal(watching.source->state.lost, 3);
    assert_int_equal(kernel.enabled, before + 2); /* the kernel has stopped it */
    while (kernel.page->aux_head - kernel.page->aux_tail < kernel.area_bytes - sizeof(load))
        fill(load, sizeof(load)); /* the area is full of what no record tells of */
    read_all(&watching);
    assert_int_equal(seen.n, 0);
    put_bytes(load, sizeof(load), 0);
    read_all(&watching);
    assert_int_equal(seen.n, 1);
    end(&watching);
}

/* A user may lock only so much memory: the area becomes smaller, and without two pages the thread is not watched. */
static void test_locked_memory(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct watching watching;
    struct hm_error error = {""};
    kernel.area_most = 3 * page;
    assert_int_equal(watch(&watching, &error), 0);
    assert_int_equal(kernel.area_bytes, 2 * page);
    end(&watching);
    memset(&kernel, 0, sizeof(kernel));
    kernel.area_most = page;
    assert_int_equal(watch(&watching, &error), -1);
    assert_non_null(strstr(error.text, "none of 2 threads can be watched"));
    assert_int_equal(kernel.enabled, 0);
    end(&watching);
}

/* The period that sampling may have goes no further than the hardware's counter. */
static void test_period(void **state)
{
    (void)state;
    struct watching watching;
    struct hm_error error = {""};
    assert_int_equal(watch(&watching, &error), 0);
    for (int i = 0; i < 40; i++) {
        put_record(PERF_RECORD_THROTTLE, 0, NULL, 0);
        fake.later_s += 2;
        read_all(&watching);
        assert_true(watching.source->state.period <= 0xffffff00 && watching.source->state.period % 256 == 0);
    }
    assert_int_equal(watching.source->state.period, UINT64_C(1) << 31);
    assert_int_equal(kernel.period, UINT64_C(1) << 31);
    end(&watching);
}

/* Where the hardware gives samples to the kernel (PEBS here), a record has the process: of pid 0, it is none of ours.
 */
static void test_other_processes(void **state)
{
    (void)state;
    struct watching watching;
    struct hm_error error = {""};
    fake.cpu = fake_intel;
    assert_int_equal(watch(&watching, &error), 0);
    uint32_t pid[] = {(uint32_t)watching.child[1].pid, 0, (uint32_t)getpid(), (uint32_t)watching.child[0].pid};
    for (int turn = 0; turn < 2; turn++) {
        for (size_t i = turn; i < N_ROWS(pid); i++) {
            uint64_t word[] = {7, pid[i], 0x7fff00001000, 65536, 0};
            put_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, word, sizeof(word));
        }
        read_all(&watching);
        assert_int_equal(seen.n, 2 - turn);
    }
    end(&watching);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_observations, reset), cmocka_unit_test_setup(test_turns, reset),
        cmocka_unit_test_setup(test_lost, reset),         cmocka_unit_test_setup(test_locked_memory, reset),
        cmocka_unit_test_setup(test_period, reset),       cmocka_unit_test_setup(test_other_processes, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
