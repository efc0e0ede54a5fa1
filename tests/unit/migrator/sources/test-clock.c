/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the clock source on real processes, with the kernel's own perf_event_open where that is allowed, and with
 * hybridmem-decode. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/pagesize.h"
#include "fakeperf.h"
#include "migrator/damon/wire.h"
#include "migrator/perf/attr.h"
#include "unit/lib/scratch.h"

#define PAGES 8
#define WANTED 20   /* samples */
#define TRIES 12000 /* of 10 ms, at most: on a busy machine the child gets little time */
#define BLIND_S 0.8 /* of the child's CPU time: nearly 8000 samples */

/* A child that loads from one page of an area, and stores into another, for ever. */
struct child {
    pid_t pid;
    unsigned char *area;
};

/* As a program has it: the sanitizers' own instructions between two accesses would leave few samples an address. */
__attribute__((noinline, no_sanitize("address"), no_sanitize("undefined"))) static void
use(volatile unsigned char *from, volatile unsigned char *to)
{
    for (unsigned char sum = 0;; *to = sum)
        sum = (unsigned char)(sum + *from);
}

static void start(struct child *child, int loaded, int stored)
{
    child->area = mmap(NULL, PAGES * hm_page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(child->area, MAP_FAILED);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* also where the test fails */
    use(child->area + (size_t)loaded * hm_page_size(), child->area + (size_t)stored * hm_page_size());
}

static void finish(struct child *child)
{
    kill(child->pid, SIGKILL);
    waitpid(child->pid, NULL, 0);
    munmap(child->area, PAGES * hm_page_size());
}

struct seen {
    uint64_t first; /* first page of the child's area */
    int loads[PAGES], stores[PAGES], unknown;
};

static void count(void *data, const struct hm_observation *observations, size_t n)
{
    struct seen *seen = data;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = HM_PAGE_NUMBER(observations[i].page) - seen->first;
        assert_true(observations[i].is_saturated); /* not every access can be seen */
        seen->unknown += !observations[i].knows_writes;
        if (at < PAGES && observations[i].writes > 0)
            seen->stores[at]++;
        else if (at < PAGES)
            seen->loads[at]++;
    }
}

static bool can_watch(void)
{
    fake.refuses_wide = true;
    fake_decode_program = DECODE;
    return fake_perf_be_real(PERF_COUNT_SW_CPU_CLOCK);
}

static struct hm_source *open_source(struct hm_ranks *ranks, const struct child *child, const char *broker)
{
    struct hm_error error = {""};
    char why[HM_WARNING];
    struct hm_source_setup setup = usual;
    setup.overhead = 1; /* so that samples come soon */
    setup.borrows = broker != NULL;
    snprintf(setup.broker, sizeof(setup.broker), "%s", broker ? broker : "");
    assert_int_equal(hm_ranks_init_list(ranks, &child->pid, 1, getuid(), &error), 0);
    assert_int_equal(hm_ranks_update(ranks, &error), 1);
    struct hm_source *source = hm_source_open("clock", &setup, why, &error);
    if (!source)
        fail_msg("%s", error.text);
    assert_int_equal(source->update(source, ranks, NULL, &error), 0);
    return source;
}

static void assert_found(const struct seen *seen)
{
    assert_true(seen->loads[3] >= WANTED && seen->stores[5] >= WANTED);
    for (int i = 0; i < PAGES; i++)
        if ((i != 3 && seen->loads[i]) || (i != 5 && seen->stores[i]))
            fail_msg("page %d: %d loads, %d stores", i, seen->loads[i], seen->stores[i]);
    assert_int_equal(seen->unknown, 0);
}

/* Reads until enough was seen of the child, which loads from page 3 and stores into page 5. */
static void watch(struct hm_source *source, struct hm_ranks *ranks, const struct child *child)
{
    struct hm_error error = {""};
    struct seen seen = {.first = (uintptr_t)child->area / hm_page_size()};
    for (int i = 0; i < TRIES && (seen.loads[3] < WANTED || seen.stores[5] < WANTED); i++) {
        usleep(10000);
        if (source->update(source, ranks, NULL, &error) != 0 || source->read(source, ranks, count, &seen, &error) != 0)
            fail_msg("%s", error.text);
    }
    assert_found(&seen);
}

static void test_loads_and_stores_are_found(void **state)
{
    (void)state;
    struct child child;
    struct hm_ranks ranks;
    if (!can_watch())
        skip();
    start(&child, 3, 5);
    struct hm_source *source = open_source(&ranks, &child, NULL);
    watch(source, &ranks, &child);
    assert_true(source->state.is_time && source->state.knows_writes && source->state.unit > 0);
    assert_true(source->helper > 0);
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&child);
}

/* Answers one question with the event of its only thread, as the broker does. */
static void lend(int client)
{
    struct hm_damon_borrow question;
    struct hm_damon_lent answer = {.number = {0}};
    struct perf_event_attr attr;
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec text = {.iov_base = &answer, .iov_len = hm_damon_wire_begin(&answer, HM_DAMON_LENT, 1, 1)};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control)};
    if (recv(client, &question, sizeof(question), 0) != (ssize_t)hm_damon_wire_size(HM_DAMON_BORROW, 1))
        _exit(1);
    hm_perf_attr_clock(&attr);
    int event = (int)syscall(SYS_perf_event_open, &attr, question.thread[0].tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    control.head =
        (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(&control.head), &event, sizeof(event));
    if (event < 0 || sendmsg(client, &message, 0) != (ssize_t)text.iov_len)
        _exit(1);
    close(event);
    close(client);
}

/* Starts a broker at this path. */
static pid_t start_broker(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 4), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    while (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        lend(accept(listener, NULL, NULL));
    }
    close(listener);
    return pid;
}

/* As where kernel.perf_event_paranoid is 3: the user may open no event. */
static void test_a_broker_lends_the_events(void **state)
{
    (void)state;
    struct child child;
    struct hm_ranks ranks;
    if (!can_watch())
        skip();
    fake.is_real = false;
    fake.opened = 0;
    fake.software = EACCES;
    pid_t broker = start_broker(scratch_path("damon.sock"));
    start(&child, 3, 5);
    struct hm_source *source = open_source(&ranks, &child, scratch_path("damon.sock"));
    watch(source, &ranks, &child);
    assert_int_equal(fake.opened, 0);
    assert_non_null(strstr(source->state.how, "hybridmem-damon lends"));
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&child);
    kill(broker, SIGKILL);
    waitpid(broker, NULL, 0);
}

/* Where neither opens events, the reason has both. */
static void test_neither_the_kernel_nor_a_broker(void **state)
{
    (void)state;
    struct hm_error error = {""};
    char why[HM_WARNING];
    struct hm_source_setup setup = usual;
    setup.borrows = true;
    snprintf(setup.broker, sizeof(setup.broker), "/nonexistent/damon.sock");
    fake.software = EACCES;
    assert_null(hm_source_open("clock", &setup, why, &error));
    assert_non_null(strstr(error.text, "the kernel refuses"));
    assert_non_null(strstr(error.text, "; the DAMON broker does not answer at /nonexistent/damon.sock"));
}

/* The source ends with the program that reads code. */
static void test_a_decoder_that_ends(void **state)
{
    (void)state;
    struct child child;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    struct seen seen = {0};
    int result = 0;
    if (!can_watch())
        skip();
    start(&child, 0, 1);
    struct hm_source *source = open_source(&ranks, &child, NULL);
    kill(source->helper, SIGKILL);
    for (int i = 0; i < TRIES && result == 0; i++) {
        usleep(10000);
        result = source->read(source, &ranks, count, &seen, &error);
    }
    assert_int_equal(result, -1);
    assert_non_null(strstr(error.text, "hybridmem-decode"));
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&child);
}

/* Code without an operand, and processes that are not known yet, have no addresses. That is not taken for hardware that
 * knows none. On a busy machine it may last so long that the source ends, as another one sees more (clockyield.h). */
static void test_samples_without_addresses(void **state)
{
    (void)state;
    struct child child = {0};
    struct hm_ranks ranks;
    struct hm_error error = {""};
    struct seen seen = {0};
    clockid_t clock;
    if (!can_watch())
        skip();
    child.pid = fork();
    assert_true(child.pid >= 0);
    while (child.pid == 0)
        __asm__ volatile("");
    struct hm_source *source = open_source(&ranks, &child, NULL);
    assert_int_equal(clock_getcpuclockid(child.pid, &clock), 0);
    int result = 0;
    for (double begun_s = hm_clock_s(clock); result == 0 && hm_clock_s(clock) < begun_s + BLIND_S; usleep(10000))
        result = source->read(source, &ranks, count, &seen, &error);
    kill(child.pid, SIGKILL);
    waitpid(child.pid, NULL, 0);
    if ((result != 0 && !strstr(error.text, "few ticks")) || source->state.samples != 0)
        fail_msg("%d samples: %s", (int)source->state.samples, error.text);
    source->close(source);
    hm_ranks_free(&ranks);
}

static void test_no_decoder(void **state)
{
    (void)state;
    struct hm_error error = {""};
    char why[HM_WARNING];
    if (!can_watch())
        skip();
    fake_decode_program = "/nonexistent/hybridmem-decode";
    assert_null(hm_source_open("clock", &usual, why, &error));
    assert_non_null(strstr(error.text, "/nonexistent/hybridmem-decode"));
    fake_decode_program = "/bin/true";
    assert_null(hm_source_open("clock", &usual, why, &error));
    assert_non_null(strstr(error.text, "does not answer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_loads_and_stores_are_found, fake_perf_reset),
        cmocka_unit_test_setup(test_a_broker_lends_the_events, fake_perf_reset),
        cmocka_unit_test_setup(test_neither_the_kernel_nor_a_broker, fake_perf_reset),
        cmocka_unit_test_setup(test_a_decoder_that_ends, fake_perf_reset),
        cmocka_unit_test_setup(test_samples_without_addresses, fake_perf_reset),
        cmocka_unit_test_setup(test_no_decoder, fake_perf_reset),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
