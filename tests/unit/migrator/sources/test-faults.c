/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the faults source on real processes, with the kernel's own perf_event_open where that is allowed. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "fakeperf.h"
#include "pagechild.h"
#include "unit/lib/rows.h"

/* what was observed of a child */
struct seen {
    uint64_t first; /* first page of its area */
    uint32_t space;
    int page[PAGES];    /* how often each page of the area was seen */
    int outside, known; /* observations of other pages, and observations that tell writes from reads */
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
    *seen = (struct seen){.first = (uintptr_t)child->area / hm_page_size(),
                          .space = (uint32_t)hm_ranks_space(ranks, child->pid)};
    if (source->read(source, ranks, count, seen, &error) != 0)
        fail_msg("%s", error.text);
}

static void assert_pages(const struct seen *seen, int first, int step)
{
    for (int i = 0; i < PAGES; i++)
        if (seen->page[i] != (i >= first && (i - first) % step == 0))
            fail_msg("page %d was seen %d times", i, seen->page[i]);
    assert_int_equal(seen->known, 0); /* a fault's record does not tell whether it was a write */
}

static void follow(struct hm_source *source, struct hm_ranks *ranks)
{
    struct hm_error error = {""};
    if (hm_ranks_update(ranks, &error) < 0 || source->update(source, ranks, NULL, &error) != 0)
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
    if (!fake_perf_be_real(PERF_COUNT_SW_PAGE_FAULTS))
        skip();
    fake.refuses_wide = true;
    start(&stranger);
    start(&watched);
    assert_int_equal(hm_ranks_init_list(&ranks, &watched.pid, 1, getuid(), &error), 0);
    struct hm_source *source = hm_source_open("faults", &usual, why, &error);
    assert_non_null(source);
    give(&watched, (struct order){1, 8, false}); /* before the child is watched, so not seen */
    follow(source, &ranks);

    give(&watched, (struct order){0, 2, false});
    give(&stranger, (struct order){0, 1, false});
    read_into(source, &ranks, &watched, &seen);
    assert_pages(&seen, 0, 2);
    uint64_t samples = source->state.samples;
    assert_true(samples >= PAGES / 2);
    assert_int_equal(samples, PAGES / 2 + (uint64_t)seen.outside);
    assert_int_equal(source->state.lost + source->state.throttled, 0);

    give(&watched, (struct order){0, 1, true}); /* starts a thread, which the next update finds */
    read_into(source, &ranks, &watched, &seen);
    follow(source, &ranks);
    give(&watched, (struct order){3, 8, true}); /* that thread touches pages for the first time */
    read_into(source, &ranks, &watched, &seen);
    assert_pages(&seen, 3, 8);
    give(&watched, (struct order){0, 2, false}); /* not the first touch any more */
    read_into(source, &ranks, &watched, &seen);
    assert_pages(&seen, PAGES, 1);

    finish(&watched);
    assert_true(is_readable(source)); /* the end of its threads wakes the reader */
    read_into(source, &ranks, &watched, &seen);
    assert_false(is_readable(source)); /* but only once */
    follow(source, &ranks);
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&stranger);
}

/* The source ends if no thread of the step's processes may be watched. It goes on where there is no process yet, or
 * where a thread ends just before it would be watched. */
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
    assert_int_equal(source->update(source, &ranks, NULL, &error), 0); /* no process yet */
    assert_true(hm_ranks_update(&ranks, &error) == 1);
    fake.software = EACCES;
    assert_int_equal(source->update(source, &ranks, NULL, &error), -1);
    assert_non_null(strstr(error.text, "none of 1 threads can be watched: the kernel refuses"));
    fake.software = ESRCH; /* the thread ends at this moment */
    assert_int_equal(source->update(source, &ranks, NULL, &error), 0);
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&child);
}

/* If sampling costs too much, the period grows, also for processes that are watched already. */
static void test_budget_is_kept(void **state)
{
    (void)state;
    struct child child;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    struct hm_source_setup setup = usual;
    char why[HM_WARNING];
    struct seen seen;
    if (!fake_perf_be_real(PERF_COUNT_SW_PAGE_FAULTS))
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
    assert_int_equal(source->state.period, 1); /* less than a second has passed */
    fake.later_s = 10;
    read_into(source, &ranks, &child, &seen);
    assert_true(source->state.period > 1000);
    assert_int_equal(source->state.unit, 1);
    give(&child, (struct order){1, 2, false});
    read_into(source, &ranks, &child, &seen);
    int all = seen.outside;
    for (int i = 0; i < PAGES; i++)
        all += seen.page[i];
    assert_true(all <= 2); /* 32 faults are less than one sample; a change of the period may give two */
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

/* Makes a cgroup for this test if version 2 is mounted. Returns 0, or -1 if it cannot be made. */
static int make_cgroup(char *path, size_t size)
{
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    for (size_t i = 0; i < N_ROWS(roots); i++) {
        char file[128];
        snprintf(file, sizeof(file), "%s/cgroup.procs", roots[i]);
        if (access(file, W_OK) != 0)
            continue;
        snprintf(path, size, "%s/hybridmem-test-source-%d", roots[i], (int)getpid());
        return mkdir(path, 0755) == 0 || errno == EEXIST ? 0 : -1;
    }
    return -1;
}

/* A whole cgroup is watched at once, on each CPU, with processes that enter it later. */
static void test_faults_of_a_cgroup(void **state)
{
    (void)state;
    struct child inside, outside;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    char why[HM_WARNING], pid[16], cgroup[64], procs[96];
    struct seen seen;
    if (!fake_perf_be_real(PERF_COUNT_SW_PAGE_FAULTS))
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
    snprintf(ranks.cgroup, sizeof(ranks.cgroup), "%s", cgroup); /* as if the processes had been found there */
    struct hm_source *source = hm_source_open("faults", &usual, why, &error);
    assert_non_null(source);
    assert_string_equal(source->state.how, "the whole cgroup, on each CPU");
    assert_int_equal(source->update(source, &ranks, NULL, &error), 0); /* empty, but watched from now on */
    assert_string_equal(source->state.how, "the whole cgroup, on each CPU");
    assert_int_equal(write_text(procs, pid), 0);
    give(&inside, (struct order){0, 4, false});
    give(&outside, (struct order){0, 1, false});
    assert_int_equal(source->update(source, &ranks, NULL, &error), 0);
    read_into(source, &ranks, &inside, &seen);
    assert_pages(&seen, 0, 4);
    finish(&inside);
    finish(&outside);
    read_into(source, &ranks, &inside, &seen);
    assert_false(is_readable(source));
    source->close(source);
    hm_ranks_free(&ranks);
    assert_int_equal(rmdir(cgroup), 0);
}

/* If there is no such cgroup, each thread is watched, and the reason is given. */
static void test_faults_of_a_cgroup_that_is_gone(void **state)
{
    (void)state;
    struct child child;
    struct hm_ranks ranks;
    struct hm_error error = {""};
    char why[HM_WARNING];
    if (!fake_perf_be_real(PERF_COUNT_SW_PAGE_FAULTS))
        skip();
    start(&child);
    assert_int_equal(hm_ranks_init_list(&ranks, &child.pid, 1, getuid(), &error), 0);
    assert_int_equal(hm_ranks_update(&ranks, &error), 1);
    snprintf(ranks.cgroup, sizeof(ranks.cgroup), "/sys/fs/cgroup/hybridmem-test-gone");
    struct hm_source *source = hm_source_open("faults", &usual, why, &error);
    assert_non_null(source);
    assert_int_equal(source->update(source, &ranks, NULL, &error), 0);
    assert_string_equal(source->state.how, "each thread by itself: No such file or directory");
    source->close(source);
    hm_ranks_free(&ranks);
    finish(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_refused_children, fake_perf_reset),
        cmocka_unit_test_setup(test_faults_of_a_child, fake_perf_reset),
        cmocka_unit_test_setup(test_budget_is_kept, fake_perf_reset),
        cmocka_unit_test_setup(test_faults_of_a_cgroup, fake_perf_reset),
        cmocka_unit_test_setup(test_faults_of_a_cgroup_that_is_gone, fake_perf_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
