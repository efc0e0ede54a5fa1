/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of sources, what "auto" takes and why, and the faults source on a real child. perf_event_open and the
 * processor are replaced at link time; the tests with a child use the kernel's own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers/migrator/perfopen.h"
#include "helpers/migrator/perftable.h"
#include "helpers/migrator/perfwatch.h"
#include "helpers/migrator/ring.h"
#include "helpers/migrator/source.h"

#define N_ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define PAGES 64

/* ------------------------------------------------------------------ what is replaced */

static struct {
    bool is_real;
    bool refuses_wide; /* also where is_real */
    int raw, software; /* errno of hardware and software events, 0: they work */
    int user_only;     /* errno of events that leave out the kernel */
    int opened;
    struct perf_event_attr last;
    struct hm_perf_cpu cpu;
    time_t later_s; /* the clock is that much ahead */
} fake;

int __real_hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);
int __wrap_hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags);
const struct hm_perf_processor *__real_hm_perf_find_processor(const struct hm_perf_cpu *cpu);
const struct hm_perf_processor *__wrap_hm_perf_find_processor(const struct hm_perf_cpu *cpu);
int __wrap_hm_perf_find_type(const char *pmu);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
    bool is_software = attr->type == PERF_TYPE_SOFTWARE;
    fake.last = *attr;
    errno = fake.refuses_wide && pid == -1                           ? EACCES
            : fake.is_real                                           ? 0
            : attr->exclude_kernel && !is_software && fake.user_only ? fake.user_only
            : is_software                                            ? fake.software
                                                                     : fake.raw;
    if (errno)
        return -1;
    fake.opened++;
    return fake.is_real ? __real_hm_perf_open(attr, pid, cpu, flags) : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

const struct hm_perf_processor *__wrap_hm_perf_find_processor(const struct hm_perf_cpu *cpu)
{
    (void)cpu;
    return __real_hm_perf_find_processor(&fake.cpu);
}

int __wrap_hm_perf_find_type(const char *pmu)
{
    (void)pmu;
    return 11;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = __real_clock_gettime(clock, time);
    if (clock == CLOCK_MONOTONIC)
        time->tv_sec += fake.later_s;
    return status;
}

static const struct hm_perf_cpu intel = {"GenuineIntel", 6, 0x8f, false}, amd = {"AuthenticAMD", 0x19, 0x11, false},
                                arm = {"Arm", 0, 0, false}, other = {"Other", 1, 1, false};

static const struct hm_source_setup usual = {.overhead = 0.01, .n_cpus = 2, .interval_ms = 10000, .stop = -1};

static int set_up(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake.cpu = intel;
    return 0;
}

/* ------------------------------------------------------------------ the table */

static void test_bad_names(void **state)
{
    (void)state;
    static const char *const names[] = {"", "Perf", "perf ", "auto,perf", "pebs"};
    for (size_t i = 0; i < N_ROWS(names); i++) {
        char why[HM_WARNING] = "x";
        struct hm_error error = {""};
        assert_null(hm_source_open(names[i], &usual, why, &error));
        assert_int_equal(errno, EINVAL);
        assert_non_null(strstr(error.text, "is not a source: use auto, perf"));
        assert_string_equal(why, "");
    }
}

static void test_table(void **state)
{
    (void)state;
    const struct hm_source_row *row;
    char names[128], tiny[6];
    int n = 0;
    assert_null(hm_source_at(-1));
    hm_source_names(names, sizeof(names));
    for (; (row = hm_source_at(n)) != NULL; n++) {
        assert_non_null(strstr(names, row->name));
        assert_true(strlen(row->name) < HM_SOURCE_NAME);
        assert_true(*row->needs && *row->knows && *row->cost && row->open);
    }
    assert_string_equal(hm_source_at(0)->name, "perf");       /* best first */
    assert_string_equal(hm_source_at(n - 1)->name, "faults"); /* what always works, last */
    assert_string_equal(hm_source_names(tiny, sizeof(tiny)), "auto,");
}

static void test_auto(void **state)
{
    (void)state;
    static const struct {
        struct hm_perf_cpu cpu;
        int raw, software, user_only;
        bool refuses_wide;
        const char *name; /* NULL: none */
        const char *why;  /* within the reasons; "" none */
        const char *how;
    } rows[] = {
        {intel, EACCES, EACCES, 0, true, NULL, "perf: Intel Sapphire Rapids", ""},
        {intel, ENOSYS, ENOSYS, 0, true, NULL, "without perf events", ""},
        {amd, EACCES, EACCES, EINVAL, true, NULL, "AMD Zen", ""},
        {intel, 0, 0, 0, false, "perf", "", "the whole cgroup"},
        {intel, 0, 0, 0, true, "perf", "", "each thread by itself"},
        {intel, ENOENT, 0, 0, false, "faults", "no such hardware event", "the whole cgroup"},
        {intel, EOPNOTSUPP, 0, 0, true, "faults", "no PEBS", "each thread"},
        {intel, 0, 0, EINVAL, false, "faults", "in this form", ""}, /* Intel's can always leave out the kernel */
        {amd, 0, 0, 0, true, "perf", "", "each thread"},
        {amd, 0, 0, EINVAL, false, "perf", "", ""}, /* before swfilt: with the kernel's */
        {arm, 0, 0, 0, false, "faults", "AUX buffer", ""},
        {other, 0, 0, 0, false, "faults", "no events of this processor are known", ""},
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        char why[HM_WARNING] = "x";
        struct hm_error error = {""};
        fake.cpu = rows[i].cpu;
        fake.raw = rows[i].raw;
        fake.software = rows[i].software;
        fake.user_only = rows[i].user_only;
        fake.refuses_wide = rows[i].refuses_wide;
        struct hm_source *source = hm_source_open("auto", &usual, why, &error);
        if (!source != !rows[i].name || (source && strcmp(source->state.name, rows[i].name) != 0))
            fail_msg("row %zu: %s (%s%s)", i, source ? source->state.name : "none", why, error.text);
        assert_non_null(strstr(source ? why : error.text, rows[i].why));
        if (source && !*rows[i].why)
            assert_string_equal(why, "");
        if (!source)
            continue;
        assert_non_null(strstr(source->state.how, rows[i].how));
        assert_true(source->state.unit > 0 && source->state.unit == source->state.period);
        assert_true(source->state.kernel_cpu_s < 0); /* not measured, so not claimed */
        assert_int_equal(source->state.knows_writes, strcmp(rows[i].name, "perf") == 0);
        source->close(source);
    }
}

/* What the kernel is asked for. */
static void test_attributes(void **state)
{
    (void)state;
    struct hm_source_setup setup = usual;
    char why[HM_WARNING];
    struct hm_source *source = hm_source_open("perf", &setup, why, NULL);
    assert_non_null(source);
    assert_int_equal(source->state.period, 65536);
    assert_int_equal(fake.last.type, PERF_TYPE_RAW);
    assert_int_equal(fake.last.config, 0x82d0);
    assert_int_equal(fake.last.sample_period, 65536);
    assert_true(fake.last.exclude_kernel && fake.last.exclude_hv && fake.last.watermark && !fake.last.freq);
    assert_int_equal(fake.last.sample_type & ~(uint64_t)HM_RING_SAMPLE_TYPES, 0);
    assert_true(fake.last.sample_type & PERF_SAMPLE_PERIOD);
    source->close(source);

    source = hm_source_open("faults", &setup, why, NULL);
    assert_non_null(source);
    assert_int_equal(fake.last.type, PERF_TYPE_SOFTWARE);
    assert_int_equal(fake.last.config, PERF_COUNT_SW_PAGE_FAULTS);
    assert_false(fake.last.sample_type & PERF_SAMPLE_PERIOD);
    source->close(source);

    setup.period = 1001;
    fake.cpu = amd;
    source = hm_source_open("perf", &setup, why, NULL);
    assert_non_null(source);
    assert_int_equal(source->state.period, 1008); /* IBS: multiples of 16 */
    assert_int_equal(fake.last.type, 11);
    assert_int_equal(fake.last.config2, 1);
    source->close(source);

    fake.user_only = EINVAL;
    source = hm_source_open("perf", &setup, why, NULL);
    assert_non_null(source);
    assert_true(!fake.last.exclude_kernel && !fake.last.exclude_hv && fake.last.config2 == 0);
    source->close(source);
}

static void test_weigh(void **state)
{
    (void)state;
    static const struct {
        uint64_t period, op;
        enum hm_perf_kind kind;
        float reads, writes;
        bool knows_writes;
    } rows[] = {
        {1000, PERF_MEM_OP_NA, HM_PERF_LOADS, 1, 0, true},
        {1000, PERF_MEM_OP_LOAD, HM_PERF_STORES, 0, 1, true}, /* the event is believed */
        {4000, PERF_MEM_OP_LOAD, HM_PERF_BOTH, 4, 0, true},
        {500, PERF_MEM_OP_STORE, HM_PERF_BOTH, 0, 0.5F, true},
        {1000, PERF_MEM_OP_LOAD | PERF_MEM_OP_STORE, HM_PERF_BOTH, 0, 1, true},
        {1000, PERF_MEM_OP_PFETCH, HM_PERF_BOTH, 1, 0, true},
        {1000, PERF_MEM_OP_NA, HM_PERF_BOTH, 1, 0, false},
        {1000, 0, HM_PERF_BOTH, 1, 0, false},
        {1000, PERF_MEM_OP_STORE, HM_PERF_UNKNOWN, 1, 0, false},
        {0, 0, HM_PERF_LOADS, 3, 0, true}, /* the record does not say: what was set */
    };
    for (size_t i = 0; i < N_ROWS(rows); i++) {
        struct hm_ring_sample sample = {.period = rows[i].period, .data_src = rows[i].op};
        struct hm_observation seen = hm_perf_weigh(&sample, rows[i].kind, 3000, 1000);
        if (seen.reads != rows[i].reads || seen.writes != rows[i].writes || seen.knows_writes != rows[i].knows_writes)
            fail_msg("row %zu: %f reads, %f writes", i, (double)seen.reads, (double)seen.writes);
        assert_int_equal(seen.n_pages, 1);
    }
}

/* ------------------------------------------------------------------ a real child */

/* A child that touches the pages it is told to, from its first thread or one that it then makes. */
struct child {
    pid_t pid;
    int to, from;
    unsigned char *area;
};

struct order {
    int first, step;
    bool in_thread;
};

static struct order current;
static unsigned char *area;

static void *touch(void *unused)
{
    (void)unused;
    for (int i = current.first; i < PAGES; i += current.step)
        *(volatile unsigned char *)(area + (size_t)i * 4096) = 1;
    return NULL;
}

/* A thread that is there from the start waits here for its orders. */
static int thread_in[2], thread_out[2];

static void *serve(void *unused)
{
    char byte;
    (void)unused;
    while (read(thread_in[0], &byte, 1) == 1) {
        touch(NULL);
        if (write(thread_out[1], &byte, 1) != 1)
            break;
    }
    return NULL;
}

static void run_child(int in, int out)
{
    pthread_t thread;
    bool has_thread = false;
    char byte = 1;
    while (read(in, &current, sizeof(current)) == sizeof(current)) {
        if (current.in_thread && !has_thread) { /* made now, so that the watcher must find it */
            has_thread =
                pipe(thread_in) == 0 && pipe(thread_out) == 0 && pthread_create(&thread, NULL, serve, NULL) == 0;
        } else if (current.in_thread) {
            if (write(thread_in[1], &byte, 1) != 1 || read(thread_out[0], &byte, 1) != 1)
                _exit(2);
        } else {
            touch(NULL);
        }
        if (write(out, &byte, 1) != 1)
            break;
    }
    _exit(0);
}

static void start(struct child *child)
{
    int to[2], from[2];
    assert_int_equal(pipe(to) | pipe(from), 0);
    child->area = area = mmap(NULL, (size_t)PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(area != MAP_FAILED);
    (void)madvise(area, (size_t)PAGES * 4096, MADV_NOHUGEPAGE);
    child->pid = fork();
    assert_true(child->pid >= 0);
    if (child->pid == 0) {
        close(to[1]);
        close(from[0]);
        run_child(to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    child->to = to[1];
    child->from = from[0];
}

static void give(const struct child *child, struct order order)
{
    char byte;
    assert_int_equal(write(child->to, &order, sizeof(order)), sizeof(order));
    assert_int_equal(read(child->from, &byte, 1), 1);
}

static void finish(struct child *child)
{
    int status;
    close(child->to);
    close(child->from);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    munmap(child->area, (size_t)PAGES * 4096);
}

/* How often each page of the area was seen, and in all. */
struct seen {
    uint64_t first;
    uint32_t space;
    int page[PAGES];
    int outside, known;
};

static void count(void *data, const struct hm_observation *observations, size_t n)
{
    struct seen *seen = data;
    for (size_t i = 0; i < n; i++) {
        const struct hm_observation *one = &observations[i];
        uint64_t at = HM_PAGE_NUMBER(one->page) - seen->first;
        assert_int_equal(one->n_pages, 1);
        assert_true(one->reads == 1 && one->writes == 0);
        seen->known += one->knows_writes;
        if (HM_PAGE_SPACE(one->page) == seen->space && at < PAGES)
            seen->page[at]++;
        else
            seen->outside++;
    }
}

static void read_into(struct hm_source *source, struct hm_ranks *ranks, const struct child *child, struct seen *seen)
{
    struct hm_error error = {""};
    *seen = (struct seen){.first = (uintptr_t)child->area / 4096, .space = (uint32_t)hm_ranks_space(ranks, child->pid)};
    if (source->read(source, ranks, count, seen, &error) != 0)
        fail_msg("%s", error.text);
}

static void assert_pages(const struct seen *seen, int first, int step)
{
    for (int i = 0; i < PAGES; i++)
        if (seen->page[i] != (i >= first && (i - first) % step == 0))
            fail_msg("page %d was seen %d times", i, seen->page[i]);
    assert_int_equal(seen->known, 0); /* a fault's record does not say whether it was a write */
}

/* Is the real call allowed here? Said aloud where it is not: tests/system has the same in the guest. */
static bool can_watch(void)
{
    struct perf_event_attr attr;
    fake.is_real = true;
    hm_perf_attr(&attr, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
    int fd = __real_hm_perf_open(&attr, 0, -1, 0);
    if (fd < 0)
        print_message("perf_event_open is not allowed here (%s): not tested\n", strerror(errno));
    else
        close(fd);
    return fd >= 0;
}

static void follow(struct hm_source *source, struct hm_ranks *ranks)
{
    struct hm_error error = {""};
    if (hm_ranks_update(ranks, &error) < 0 || source->update(source, ranks, &error) != 0)
        fail_msg("%s", error.text);
}

static bool is_readable(const struct hm_source *source)
{
    struct pollfd poller = {.fd = source->fd, .events = POLLIN};
    return poll(&poller, 1, 0) > 0;
}

static void test_faults_of_a_child(void **state)
{
    (void)state;
    struct child watched, stranger;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    char why[HM_WARNING];
    struct seen seen;
    if (!can_watch())
        skip();
    fake.refuses_wide = true;
    start(&stranger);
    start(&watched);
    assert_int_equal(hm_ranks_init_list(&ranks, &watched.pid, 1, getuid(), &error), 0);
    struct hm_source *source = hm_source_open("faults", &usual, why, &error);
    assert_non_null(source);
    give(&watched, (struct order){1, 8, false}); /* before it is watched: not seen */
    follow(source, &ranks);

    give(&watched, (struct order){0, 2, false});
    give(&stranger, (struct order){0, 1, false});
    read_into(source, &ranks, &watched, &seen);
    assert_pages(&seen, 0, 2);
    uint64_t samples = source->state.samples;
    assert_true(samples >= PAGES / 2);
    assert_int_equal(samples, PAGES / 2 + (uint64_t)seen.outside);
    assert_int_equal(source->state.lost + source->state.throttled + source->state.left_out, 0);

    give(&watched, (struct order){0, 1, true}); /* makes a thread, which the next update finds */
    read_into(source, &ranks, &watched, &seen);
    follow(source, &ranks);
    give(&watched, (struct order){3, 8, true}); /* pages that were not touched yet, from that thread */
    read_into(source, &ranks, &watched, &seen);
    assert_pages(&seen, 3, 8);
    give(&watched, (struct order){0, 2, false}); /* no first touch any more */
    read_into(source, &ranks, &watched, &seen);
    assert_pages(&seen, PAGES, 1);

    finish(&watched);
    assert_true(is_readable(source)); /* the end of its threads */
    read_into(source, &ranks, &watched, &seen);
    assert_false(is_readable(source)); /* which does not wake the reader again */
    follow(source, &ranks);
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&stranger);
}

/* A process that may not be watched is no reason to end, unless there is none that may. */
static void test_refused_children(void **state)
{
    (void)state;
    struct child child;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    char why[HM_WARNING];
    start(&child);
    assert_int_equal(hm_ranks_init_list(&ranks, &child.pid, 1, getuid(), &error), 0);
    fake.refuses_wide = true;
    struct hm_source *source = hm_source_open("faults", &usual, why, &error);
    assert_non_null(source);
    assert_int_equal(source->update(source, &ranks, &error), 0); /* nobody there yet */
    assert_true(hm_ranks_update(&ranks, &error) == 1);
    fake.software = EACCES;
    assert_int_equal(source->update(source, &ranks, &error), -1);
    assert_non_null(strstr(error.text, "none of 1 threads can be watched: the kernel refuses"));
    assert_int_equal(source->state.left_out, 1);
    fake.software = ESRCH; /* it ends in this moment */
    assert_int_equal(source->update(source, &ranks, &error), 0);
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&child);
}

/* Sampling that costs more than it may is made coarser, also for what is already watched. */
static void test_budget_is_kept(void **state)
{
    (void)state;
    struct child child;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    struct hm_source_setup setup = usual;
    char why[HM_WARNING];
    struct seen seen;
    if (!can_watch())
        skip();
    fake.refuses_wide = true;
    setup.overhead = 1e-12;
    start(&child);
    assert_int_equal(hm_ranks_init_list(&ranks, &child.pid, 1, getuid(), &error), 0);
    struct hm_source *source = hm_source_open("faults", &setup, why, &error);
    assert_non_null(source);
    follow(source, &ranks);
    give(&child, (struct order){0, 2, false});
    read_into(source, &ranks, &child, &seen);
    assert_pages(&seen, 0, 2);
    assert_int_equal(source->state.period, 1); /* not yet a second */
    fake.later_s = 10;
    read_into(source, &ranks, &child, &seen);
    assert_true(source->state.period > 1000);
    assert_int_equal(source->state.unit, 1);
    give(&child, (struct order){1, 2, false});
    read_into(source, &ranks, &child, &seen);
    int all = seen.outside;
    for (int i = 0; i < PAGES; i++)
        all += seen.page[i];
    assert_true(all <= 2); /* 32 faults are less than one sample; a change may cost two */
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&child);
}

static int write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : write(fd, text, strlen(text));
    if (fd >= 0)
        close(fd);
    return length == (ssize_t)strlen(text) ? 0 : -1;
}

/* Make a cgroup where version 2 is mounted. Returns 0, or -1 where none can be made. */
static int make_cgroup(char *path, size_t size)
{
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    for (size_t i = 0; i < N_ROWS(roots); i++) {
        char file[128];
        snprintf(file, sizeof(file), "%s/cgroup.procs", roots[i]);
        if (access(file, W_OK) != 0)
            continue;
        snprintf(path, size, "%s/hybridmem-test-source", roots[i]);
        return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -1;
    }
    return -1;
}

/* A whole cgroup at once, on each CPU: also what starts in it later. */
static void test_faults_of_a_cgroup(void **state)
{
    (void)state;
    struct child inside, outside;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    char why[HM_WARNING], pid[16], cgroup[64], procs[96];
    struct seen seen;
    if (!can_watch())
        skip();
    if (make_cgroup(cgroup, sizeof(cgroup)) != 0) {
        print_message("no cgroup can be made here (%s): not tested\n", strerror(errno));
        skip();
    }
    start(&outside);
    start(&inside);
    snprintf(procs, sizeof(procs), "%s/cgroup.procs", cgroup);
    snprintf(pid, sizeof(pid), "%d", (int)inside.pid);
    assert_int_equal(hm_ranks_init_list(&ranks, &inside.pid, 1, getuid(), &error), 0);
    assert_int_equal(hm_ranks_update(&ranks, &error), 1);
    snprintf(ranks.cgroup, sizeof(ranks.cgroup), "%s", cgroup); /* as if they had been found there */
    struct hm_source *source = hm_source_open("faults", &usual, why, &error);
    assert_non_null(source);
    assert_string_equal(source->state.how, "the whole cgroup, on each CPU");
    assert_int_equal(source->update(source, &ranks, &error), 0); /* empty: watched from now on all the same */
    assert_string_equal(source->state.how, "the whole cgroup, on each CPU");
    assert_int_equal(write_text(procs, pid), 0);
    give(&inside, (struct order){0, 4, false});
    give(&outside, (struct order){0, 1, false});
    assert_int_equal(source->update(source, &ranks, &error), 0);
    read_into(source, &ranks, &inside, &seen);
    assert_pages(&seen, 0, 4);
    finish(&inside);
    finish(&outside);
    read_into(source, &ranks, &inside, &seen);
    assert_false(is_readable(source));
    source->close(source);

    /* A cgroup that is not there: thread by thread, and the reason is named. */
    snprintf(ranks.cgroup, sizeof(ranks.cgroup), "%s-gone", cgroup);
    source = hm_source_open("faults", &usual, why, &error);
    assert_non_null(source);
    (void)source->update(source, &ranks, &error);
    assert_string_equal(source->state.how, "each thread by itself: No such file or directory");
    source->close(source);
    hm_ranks_free(&ranks);
    assert_int_equal(rmdir(cgroup), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_bad_names, set_up),
        cmocka_unit_test_setup(test_table, set_up),
        cmocka_unit_test_setup(test_auto, set_up),
        cmocka_unit_test_setup(test_attributes, set_up),
        cmocka_unit_test_setup(test_weigh, set_up),
        cmocka_unit_test_setup(test_refused_children, set_up),
        cmocka_unit_test_setup(test_faults_of_a_child, set_up),
        cmocka_unit_test_setup(test_budget_is_kept, set_up),
        cmocka_unit_test_setup(test_faults_of_a_cgroup, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
