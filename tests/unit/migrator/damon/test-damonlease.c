/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how the DAMON broker serves a client: it lends a kdamond, changes its settings, and ends the watch. DAMON's
 * files in sysfs are simulated. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/process.h"
#include "migrator/damon/broker/lease.h"
#include "migrator/damon/folder.h"
#include "unit/lib/scratch.h"

#define ROOT "/sys/kernel/mm/damon/admin/kdamonds/"
#define FILES 64
#define SECOND_NS UINT64_C(1000000000)

/* ------------------------------------------------------------------ the kernel */

static struct {
    unsigned n;
    char path[FILES][128], text[FILES][32];
    bool is_busy; /* another process reads or writes one of these files all the time */
    unsigned commits;
    uint64_t now_ns, commit_ns; /* commit_ns: how long a commit takes */
} kernel;

int __real_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

static void put(const char *path, const char *text)
{
    unsigned i = 0;
    while (i < kernel.n && strcmp(kernel.path[i], path) != 0)
        i++;
    assert_true(i < FILES);
    kernel.n = i < kernel.n ? kernel.n : i + 1;
    snprintf(kernel.path[i], sizeof(kernel.path[i]), "%s", path);
    snprintf(kernel.text[i], sizeof(kernel.text[i]), "%s", text);
}

/* Makes all kdamonds anew, without a context. */
static void set_number(const char *text)
{
    char path[128];
    kernel.n = 0;
    put(ROOT "nr_kdamonds", text);
    for (int k = 0; k < atoi(text); k++) {
        snprintf(path, sizeof(path), ROOT "%d/contexts/nr_contexts", k);
        put(path, "0");
    }
}

int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error)
{
    bool is_damon = strncmp(path, ROOT, strlen(ROOT)) == 0;
    if (is_damon && kernel.is_busy)
        return hm_fail(error, EBUSY, "cannot read %s", path);
    for (unsigned i = 0; i < kernel.n; i++) {
        if (strcmp(kernel.path[i], path) != 0)
            continue;
        snprintf(out, size, "%s", kernel.text[i]);
        return 0;
    }
    return is_damon ? hm_fail(error, ENOENT, "cannot read %s", path) : __real_hm_file_read(path, out, size, error);
}

int hm_file_write(const char *path, const char *text, struct hm_error *error)
{
    assert_int_equal(strncmp(path, ROOT, strlen(ROOT)), 0);
    if (kernel.is_busy)
        return hm_fail(error, EBUSY, "cannot write %s", path);
    if (strcmp(path, ROOT "nr_kdamonds") == 0)
        set_number(text);
    else
        put(path, text);
    if (strcmp(text, "commit") == 0) {
        kernel.commits++;
        kernel.now_ns += kernel.commit_ns;
    }
    return 0;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted, (void)left;
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC)
        return __real_clock_gettime(clock, time);
    *time =
        (struct timespec){.tv_sec = (time_t)(kernel.now_ns / SECOND_NS), .tv_nsec = (long)(kernel.now_ns % SECOND_NS)};
    return 0;
}

/* The owner of /proc/PID/maps, and whether the kernel has one list of the first process's regions. */
static uid_t owner;
static bool has_list;

int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);
void __wrap_hm_damon_tracepoint_read(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                                     hm_damon_gathering_sink *sink, void *data);

int __wrap_stat(const char *path, struct stat *status)
{
    int result = __real_stat(path, status);
    if (strncmp(path, "/proc/", 6) == 0)
        status->st_uid = owner;
    return result;
}

void __wrap_hm_damon_tracepoint_read(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                                     hm_damon_gathering_sink *sink, void *data)
{
    static const struct hm_damon_gathering list = {.n = 1, .region = {{.start = 4096, .end = 8192, .accesses = 1}}};
    (void)tracepoint, (void)layout;
    if (has_list)
        sink(data, &list);
}

/* ------------------------------------------------------------------ a broker and a client */

static struct hm_damon_broker broker;
static struct hm_damon_lease lease;
static int client;

static void begin_broker(void)
{
    broker = (struct hm_damon_broker){.n_wanted = 2, .layout = {.id = 1}};
    snprintf(broker.state_path, sizeof(broker.state_path), "%s/" HM_DAMON_STATE, scratch);
}

static int set_up(void **state)
{
    (void)state;
    const struct hm_damon_peer peer = {.pid = getpid(), .uid = getuid(), .owner = getuid(), .pidfd = -1};
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    memset(&kernel, 0, sizeof(kernel));
    has_list = false;
    set_number("0");
    begin_broker();
    hm_damon_lease_open(&lease, 1, pair[0], &peer);
    client = pair[1];
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hm_damon_lease_close(&broker, &lease);
    close(client);
    return hm_damon_remove(broker.state_path, &broker.owned, NULL) || access(broker.state_path, F_OK) == 0;
}

/* Asks for a kdamond before any process is known. */
static struct hm_damon_answer ask(void)
{
    struct hm_damon_watch watch = {.interval_ms = 10000, .budget = 10000};
    struct hm_damon_answer reply;
    size_t size = hm_damon_wire_begin(&watch, HM_DAMON_WATCH, 1, 0);
    assert_int_equal(send(client, &watch, size, 0), size);
    assert_true(hm_damon_lease_serve(&broker, &lease));
    assert_int_equal(recv(client, &reply, sizeof(reply), MSG_DONTWAIT), sizeof(reply));
    return reply;
}

static void assert_refused(const char *why)
{
    struct hm_damon_answer reply = ask();
    assert_int_equal(reply.number, EBUSY);
    assert_non_null(strstr(reply.text, why));
    assert_int_equal(broker.owned.n, 0);
}

static void assert_lent(unsigned n)
{
    struct hm_damon_answer reply = ask();
    if (reply.number != 0)
        fail_msg("refused: %s", reply.text);
    assert_int_equal(broker.owned.n, n);
    assert_int_equal(lease.kdamond, 0);
}

static void kdamonds_are_made_for_the_first_who_asks(void **state)
{
    (void)state;
    assert_int_equal(broker.owned.n, 0);
    assert_lent(2);
    uint32_t mark = broker.owned.mark;
    assert_lent(2);
    assert_int_equal(broker.owned.mark, mark); /* the set-up happens once */
}

static void others_are_looked_for_at_each_request(void **state)
{
    (void)state;
    set_number("3");
    assert_refused("3 kdamonds that are not hybridmem's");
    assert_refused("3 kdamonds that are not hybridmem's");
    set_number("0");
    assert_lent(2);
}

static void a_module_that_holds_damon_is_looked_for_at_each_request(void **state)
{
    (void)state;
    put("/sys/module/damon_stat/parameters/enabled", "Y");
    assert_refused("the kernel's own damon_stat holds DAMON");
    put("/sys/module/damon_stat/parameters/enabled", "N");
    assert_lent(2);
}

static void a_busy_kernel_is_asked_again(void **state)
{
    (void)state;
    kernel.is_busy = true;
    assert_refused("somebody keeps them busy");
    kernel.is_busy = false;
    assert_lent(2);
}

/* When the broker began, the kernel was too busy to tell whose the kdamonds were. */
static void what_a_dead_broker_left_is_taken_over_later(void **state)
{
    (void)state;
    broker.n_wanted = 5;
    assert_lent(5);
    uint32_t mark = broker.owned.mark;
    kernel.is_busy = true;
    begin_broker();
    assert_int_equal(hm_damon_take_over(broker.state_path, &broker.owned, NULL), -1);
    assert_refused("somebody keeps them busy");
    kernel.is_busy = false;
    assert_lent(5);
    assert_int_equal(broker.owned.mark, mark);
}

static void a_kdamond_without_processes_is_not_kept_for_long(void **state)
{
    (void)state;
    kernel.now_ns = SECOND_NS;
    assert_lent(2);
    kernel.now_ns += 60 * SECOND_NS;
    hm_damon_lease_work(&broker, &lease);
    assert_int_equal(hm_damon_pool_lent(&broker.pool), 1);
    kernel.now_ns++;
    hm_damon_lease_work(&broker, &lease);
    assert_int_equal(hm_damon_pool_lent(&broker.pool), 0);
    assert_lent(2); /* the next message gets one again */
    assert_int_equal(hm_damon_pool_lent(&broker.pool), 1);
}

/*
 * Makes the lease watch this process. Its kdamond has used 1 s of CPU time: over 10 s that is a tenth of a CPU instead
 * of the wanted hundredth, so that its settings have to be changed then.
 */
static void begin_watching(struct hm_damon_lease *watching, pid_t thread)
{
    char path[64];
    int pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    assert_true(pidfd >= 0);
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)thread);
    put(path, "1000000000 0 0");
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)thread);
    put(path, "kdamond.0");
    watching->kdamond = watching == &lease ? 0 : 1;
    watching->thread = thread;
    watching->n = 1;
    watching->pidfd[0] = pidfd;
    watching->needs = (struct hm_damon_needs){.interval_ms = 10000, .budget = 10000, .n_processes = 1};
    watching->settings = hm_damon_tune_first(&watching->needs);
    watching->is_tuned = true;
    watching->n_lists = 100;
}

static void settings_change_again_after_as_long_as_a_change_took(void **state)
{
    (void)state;
    struct hm_damon_lease other;
    hm_damon_lease_open(&other, 2, dup(lease.fd), &lease.peer);
    assert_lent(2);
    begin_watching(&lease, 4000001);
    begin_watching(&other, 4000002);
    kernel.now_ns = 10 * SECOND_NS;
    kernel.commit_ns = 4 * SECOND_NS;
    hm_damon_lease_work(&broker, &lease);
    assert_int_equal(kernel.commits, 1);
    hm_damon_lease_work(&broker, &other); /* no second change yet: it would hold up all clients for twice the time */
    assert_int_equal(kernel.commits, 1);
    kernel.now_ns += 4 * SECOND_NS - 1;
    hm_damon_lease_work(&broker, &other);
    assert_int_equal(kernel.commits, 1);
    kernel.now_ns++;
    hm_damon_lease_work(&broker, &other);
    assert_int_equal(kernel.commits, 2);
    hm_damon_lease_close(&broker, &other);
}

#define ALICE 4711

/* Has the kernel give a list of this process's regions, as if the process belonged to `its_owner` and had this
 * /proc/PID/statm. Returns the message that the client gets; its kind is 0 if there is none. */
static union hm_damon_message hear_list(uid_t its_owner, const char *statm)
{
    union hm_damon_message message;
    char path[64];
    assert_lent(2);
    begin_watching(&lease, 4000001);
    lease.peer.uid = ALICE;
    lease.target[0].pid = getpid();
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)getpid());
    put(path, statm);
    owner = its_owner;
    has_list = true;
    hm_damon_lease_work(&broker, &lease);
    memset(&message, 0, sizeof(message));
    recv(client, &message, sizeof(message), MSG_DONTWAIT);
    return message;
}

static void what_a_setuid_program_accesses_is_not_sent(void **state)
{
    (void)state;
    assert_int_equal(hear_list(ALICE, "100 50").head.kind, HM_DAMON_LIST);
    union hm_damon_message message = hear_list(0, "100 50"); /* it has called exec meanwhile */
    assert_int_equal(message.head.kind, HM_DAMON_ANSWER);
    assert_int_equal(message.answer.number, ESRCH); /* so that the client names its processes again */
    assert_true(lease.n == 0 && lease.thread == 0);
}

/* Asks to watch this process. */
static void ask_for(uint32_t n_ranges)
{
    struct hm_process self;
    struct hm_damon_watch watch = {.interval_ms = 10000, .budget = 10000};
    assert_int_equal(hm_process_identify(getpid(), &self), 0);
    watch.process[0] = (struct hm_damon_process){.pid = self.pid, .start_time = self.start_time, .n_ranges = n_ranges};
    for (uint32_t i = 0; i < n_ranges; i++)
        watch.process[0].range[i] = (struct hm_damon_range){(2 * i + 1) * 4096, (2 * i + 2) * 4096};
    size_t size = hm_damon_wire_begin(&watch, HM_DAMON_WATCH, 1, 1);
    assert_int_equal(send(client, &watch, size, 0), size);
    assert_true(hm_damon_lease_serve(&broker, &lease));
}

/* If ranges were not counted, no region would be left for the large ranges of a process with many small ones. If a
 * watched process gets new ranges, only min_regions changes. */
static void ranges_are_counted_for_the_settings(void **state)
{
    (void)state;
    owner = getuid();
    ask_for(2);
    assert_int_equal(lease.needs.n_processes, 1);
    assert_int_equal(lease.needs.n_ranges, 2);
    lease.settings = (struct hm_damon_settings){.look_us = 50000, .min_regions = 7, .max_regions = 40};
    ask_for(6);
    assert_int_equal(lease.needs.n_ranges, 6);
    assert_int_equal(lease.settings.look_us, 50000);
    assert_int_equal(lease.settings.max_regions, 40);
    assert_int_equal(lease.settings.min_regions, 5); /* (40 / 2 - 6) / 2.5 */
}

/* While a process ends, its files in /proc are root's, too. The watch goes on then, as a new one would begin without
 * regions. */
static void a_process_that_ends_does_not_end_the_watch(void **state)
{
    (void)state;
    assert_int_equal(hear_list(0, "0 0").head.kind, 0);
    assert_true(lease.n == 1 && lease.thread > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(kdamonds_are_made_for_the_first_who_asks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(others_are_looked_for_at_each_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_module_that_holds_damon_is_looked_for_at_each_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_busy_kernel_is_asked_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_dead_broker_left_is_taken_over_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_kdamond_without_processes_is_not_kept_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(settings_change_again_after_as_long_as_a_change_took, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_setuid_program_accesses_is_not_sent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ranges_are_counted_for_the_settings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_process_that_ends_does_not_end_the_watch, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
