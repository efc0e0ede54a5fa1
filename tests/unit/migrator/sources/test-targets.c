/* SPDX-License-Identifier: Apache-2.0 */
/* Tests which threads a source of perf events watches where not all can be watched. The threads are this process's own;
 * the kernel's part is made up. */
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/pagesize.h"
#include "fakeperf.h"
#include "migrator/sources/perfwatchparts.h"

#define THREADS 8 /* with the first one */

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at);
int __real_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size);
int __wrap_ioctl(int fd, unsigned long request, ...);

static int rings, most_rings; /* that are mapped; that the limit of locked memory allows */
static void *ring[THREADS];

void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t at)
{
    if (fd < 0)
        return __real_mmap(address, size, protection, flags, fd, at);
    if (rings >= most_rings) {
        errno = EPERM;
        return MAP_FAILED;
    }
    return ring[rings++] = __real_mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int __wrap_munmap(void *address, size_t size)
{
    for (int i = 0; i < rings; i++)
        if (ring[i] == address) {
            ring[i] = ring[--rings];
            break;
        }
    return __real_munmap(address, size);
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
    return 0;
}

static int n_listed; /* folders */

DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);

DIR *__wrap_opendir(const char *path)
{
    n_listed++;
    return __real_opendir(path);
}

static int wall[2]; /* a pipe: the threads read from it, and end with it */

static void *wait_for_end(void *unused)
{
    char byte;
    return read(wall[0], &byte, 1) < 0 ? unused : NULL;
}

static pthread_t thread[THREADS];
static struct hm_rank rank[1];
static struct hm_rank_index by_pid[1];
static struct hm_ranks ranks = {.rank = rank, .n = 1, .by_pid = by_pid, .n_living = 1};
static struct hm_error error;
static struct hm_source *source;

static int start_threads(void **state)
{
    (void)state;
    rank[0].pid = by_pid[0].pid = getpid();
    int status = pipe(wall);
    for (int i = 1; i < THREADS; i++)
        status |= pthread_create(&thread[i], NULL, wait_for_end, NULL);
    return status;
}

static int end_threads(void **state)
{
    (void)state;
    int status = close(wall[1]);
    for (int i = 1; i < THREADS; i++)
        status |= pthread_join(thread[i], NULL);
    return status | close(wall[0]);
}

static int open_source(void **state)
{
    char why[HM_WARNING];
    fake_perf_reset(state);
    fake.refuses_wide = true;
    most_rings = THREADS;
    error.text[0] = '\0';
    source = hm_source_open("faults", &usual, why, &error);
    fake.opened = 0;
    return source ? 0 : -1;
}

static int close_source(void **state)
{
    (void)state;
    source->close(source);
    return 0;
}

/* Updates so many seconds after the last time. Returns how many events that opened. */
static int update_after(time_t seconds)
{
    int before = fake.opened;
    fake.later_s += seconds;
    if (source->update(source, &ranks, NULL, &error) != 0)
        fail_msg("%s", error.text);
    return fake.opened - before;
}

/* To try a thread costs far more than to know it, and there may be thousands. */
static void threads_that_are_refused_are_tried_ever_less_often(void **state)
{
    (void)state;
    most_rings = 3;
    assert_int_equal(update_after(0), 4); /* up to the first one that is refused */
    assert_true(rank[0].has_unseen);
    assert_int_equal(update_after(0), 0);
    assert_int_equal(update_after(1), 1);
    assert_string_equal(source->state.partly, "");
    assert_int_equal(update_after(1), 0);
    assert_int_equal(update_after(1), 1);
    assert_int_equal(update_after(3), 0);
    assert_int_equal(update_after(1), 1);
    assert_string_equal(source->state.partly,
                        "3 of 8 threads are watched: the user may lock no more memory (ulimit -l, "
                        "kernel.perf_event_mlock_kb)");
    most_rings = THREADS; /* the limit was raised */
    assert_int_equal(update_after(7), 0);
    assert_int_equal(update_after(1), THREADS - 3);
    assert_false(rank[0].has_unseen);
    assert_int_equal(rings, THREADS);
}

static void a_source_that_may_watch_no_thread_has_ended(void **state)
{
    (void)state;
    most_rings = 0;
    assert_int_equal(source->update(source, &ranks, NULL, &error), -1);
    assert_string_equal(error.text, "none of 8 threads can be watched: the user may lock no more memory (ulimit -l, "
                                    "kernel.perf_event_mlock_kb)");
    assert_int_equal(fake.opened, 1);
}

/* To list thousands of threads at each look takes most of what a source may use. */
static void threads_are_not_listed_where_none_has_come(void **state)
{
    (void)state;
    n_listed = 0;
    assert_int_equal(update_after(0), THREADS);
    assert_int_equal(update_after(0), 0);
    assert_int_equal(n_listed, 1);
}

/* A process that comes in a pause is not seen. */
static void a_new_process_is_marked_until_its_threads_are_watched(void **state)
{
    (void)state;
    most_rings = 3;
    update_after(0);
    rank[0].has_unseen = false;
    update_after(0);
    assert_false(rank[0].has_unseen);
    rank[0].is_new = true;
    update_after(0);
    assert_true(rank[0].has_unseen);
    rank[0].is_new = false;
    most_rings = THREADS;
    update_after(1);
    assert_false(rank[0].has_unseen);
}

static void threads_do_not_take_the_last_descriptors(void **state)
{
    (void)state;
    struct rlimit before;
    int next = dup(0);
    close(next);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit tight = {2 * ((rlim_t)next + 3), before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
    assert_in_range(update_after(0), 3, 4); /* the folder of the threads is open meanwhile */
    assert_in_range(rings, 2, 3);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    update_after(2);
    assert_int_equal(rings, THREADS);
}

/* With pages of 64 KiB and SPE, the least that each thread takes is 256 KiB. */
static void threads_lock_no_more_than_is_allowed(void **state)
{
    (void)state;
    struct hm_perf_watched *watch = (struct hm_perf_watched *)source;
    update_after(0);
    assert_true(watch->locked_bytes >= THREADS * 2 * hm_page_size());
    uint64_t each = watch->locked_bytes / THREADS;
    while (watch->n > 3)
        hm_perf_drop(watch, watch->n - 1);
    assert_int_equal(watch->locked_bytes, 3 * each);
    watch->locked_bytes = HM_PERF_LOCKED - each;
    assert_int_equal(update_after(1), 1);
    for (int i = 0; i < 3; i++)
        update_after(64);
    assert_int_equal(watch->n, 4);
    assert_string_equal(source->state.partly,
                        "4 of 8 threads are watched: the migrator locks no more than 256 MiB for samples");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(threads_that_are_refused_are_tried_ever_less_often, open_source, close_source),
        cmocka_unit_test_setup_teardown(a_source_that_may_watch_no_thread_has_ended, open_source, close_source),
        cmocka_unit_test_setup_teardown(threads_are_not_listed_where_none_has_come, open_source, close_source),
        cmocka_unit_test_setup_teardown(a_new_process_is_marked_until_its_threads_are_watched, open_source,
                                        close_source),
        cmocka_unit_test_setup_teardown(threads_do_not_take_the_last_descriptors, open_source, close_source),
        cmocka_unit_test_setup_teardown(threads_lock_no_more_than_is_allowed, open_source, close_source),
    };
    return cmocka_run_group_tests(tests, start_threads, end_threads);
}
