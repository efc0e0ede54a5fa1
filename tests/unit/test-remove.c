/* SPDX-License-Identifier: Apache-2.0 */
/* What is undone, waited for and said where namespaces cannot be made or removed; the memory is pretended. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "helpers/job/topology.h"
#include "helpers/namespace/firstmount.h"
#include "helpers/namespace/parts.h"

#define MOST 4
#define ALWAYS 1000
#define GIB (UINT64_C(1) << 30)

/* The namespaces that there are, and what becomes of an attempt to remove each. */
static struct {
    struct hm_namespace namespace;
    int busy;            /* for so many tries */
    bool fails, is_late; /* then */
    int tries;
} there[MOST];
static int n_there, pauses, lock;
static int fails_on; /* mkfs on the namespace of this socket */
static bool stays;   /* what is made now cannot be removed */
static struct hm_config config;
static struct hm_error error;

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_hm_topology_of_node(const struct hm_config *of, struct hm_topology *topology, struct hm_error *why);
const char *__wrap_hm_mkfs_program(const struct hm_filesystem *filesystem, struct hm_error *why);
int __wrap_hm_mkfs_run(const struct hm_filesystem *filesystem, const char *device, struct hm_error *why);
int __wrap_hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid,
                          struct hm_error *why);

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
    assert_int_equal(time->tv_nsec, 100000000);
    assert_null(rest);
    pauses++;
    /* Nobody has to wait for what we wait for. */
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", lock);
    int other = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    close(other);
    return 0;
}

int __wrap_hm_topology_of_node(const struct hm_config *of, struct hm_topology *topology, struct hm_error *why)
{
    (void)of, (void)topology, (void)why;
    return 0;
}

const char *__wrap_hm_mkfs_program(const struct hm_filesystem *filesystem, struct hm_error *why)
{
    (void)filesystem, (void)why;
    return "/sbin/mkfs";
}

int __wrap_hm_mkfs_run(const struct hm_filesystem *filesystem, const char *device, struct hm_error *why)
{
    (void)filesystem;
    return device[strlen(device) - 1] == '0' + fails_on ? hm_fail(why, EIO, "mkfs failed on %s", device) : 0;
}

int __wrap_hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid,
                          struct hm_error *why)
{
    (void)device, (void)filesystem, (void)place, (void)uid, (void)why;
    return 0;
}

int hm_pmem_open(struct hm_pmem **pmem, struct hm_error *why)
{
    (void)why;
    *pmem = NULL;
    return 0;
}

void hm_pmem_close(struct hm_pmem *pmem)
{
    (void)pmem;
}

int hm_pmem_regions(struct hm_pmem *pmem, const struct hm_topology *topology, struct hm_region region[HM_PMEM_REGIONS])
{
    (void)pmem, (void)topology;
    for (int i = 0; i < 2; i++)
        region[i] = (struct hm_region){.name = "region0",
                                       .socket = i,
                                       .size = GIB,
                                       .free = GIB,
                                       .extent = GIB,
                                       .align = HM_DAX_ALIGN,
                                       .has_labels = true,
                                       .is_enabled = true};
    return 2;
}

int hm_pmem_owned(struct hm_pmem *pmem, struct hm_namespace **owned, struct hm_error *why)
{
    (void)pmem, (void)why;
    *owned = calloc(MOST, sizeof(**owned));
    assert_non_null(*owned);
    for (int i = 0; i < n_there; i++)
        (*owned)[i] = there[i].namespace;
    return n_there;
}

static void add(uint32_t job_id, unsigned socket, int busy, bool fails)
{
    struct hm_namespace namespace = {.owner = {.cluster = "c", .job_id = job_id, .socket = socket}, .bytes = GIB};
    snprintf(namespace.name, sizeof(namespace.name), "job%u.%u", job_id, socket);
    snprintf(namespace.device, sizeof(namespace.device), "/dev/nopmem%u", socket);
    assert_true(n_there < MOST);
    there[n_there].namespace = namespace;
    there[n_there].busy = busy;
    there[n_there].tries = 0;
    there[n_there].is_late = false;
    there[n_there++].fails = fails;
}

int hm_pmem_create(struct hm_pmem *pmem, const struct hm_share *share, const struct hm_owner *owner, bool map_in_pmem,
                   struct hm_namespace *made, struct hm_error *why)
{
    (void)pmem, (void)share, (void)map_in_pmem, (void)why;
    add(owner->job_id, owner->socket, 0, stays);
    *made = there[n_there - 1].namespace;
    return 0;
}

int hm_pmem_remove(struct hm_pmem *pmem, const struct hm_owner *owner, struct hm_error *why)
{
    (void)pmem;
    int i = 0;
    while (i < n_there &&
           (there[i].namespace.owner.job_id != owner->job_id || there[i].namespace.owner.socket != owner->socket))
        i++;
    assert_true(i < n_there);
    if (there[i].tries++ < there[i].busy)
        return hm_fail(why, EBUSY, "in use");
    if (there[i].is_late)
        return hm_fail(why, ETIME, "no time");
    if (there[i].fails)
        return hm_fail(why, EIO, "no wipe");
    memmove(&there[i], &there[i + 1], (size_t)(MOST - i - 1) * sizeof(there[0]));
    n_there--;
    return 0;
}

static int setup(void **state)
{
    (void)state;
    n_there = pauses = 0;
    fails_on = -1;
    stays = false;
    error.text[0] = '\0';
    lock = memfd_create("lock", MFD_CLOEXEC);
    return flock(lock, LOCK_EX);
}

static int drop(void **state)
{
    (void)state;
    return close(lock);
}

static int reap(const char *living)
{
    struct hm_namespace_request request = {.living = living, .patience_s = 2, .lock = lock};
    return hm_namespace_reap(&config, &request, &error);
}

static void test_what_is_in_use_is_waited_for_together(void **state)
{
    (void)state;
    add(1, 0, ALWAYS, false);
    add(2, 0, 0, false);
    add(3, 0, ALWAYS, false);
    add(4, 0, ALWAYS, false);
    assert_int_equal(reap("4.0"), HM_NAMESPACE_BUSY);
    assert_int_equal(pauses, 20);
    assert_int_equal(n_there, 3);
    assert_int_equal(there[0].tries, 21);
    assert_int_equal(there[1].tries, 21);
    assert_int_equal(there[2].tries, 0);
    assert_string_equal(error.text,
                        "job1.0 is still in use after 2 s: /dev/nopmem0 is mounted or open in no process that /proc "
                        "shows; job3.0 is still in use after 2 s: /dev/nopmem0 is mounted or open in no process that "
                        "/proc shows");
}

static void test_no_longer_than_it_takes(void **state)
{
    (void)state;
    add(1, 0, 3, false);
    add(1, 1, 5, false);
    assert_int_equal(reap(""), HM_NAMESPACE_DONE);
    assert_int_equal(pauses, 5);
    assert_int_equal(n_there, 0);
    assert_string_equal(error.text, "");
}

static void test_a_failure_is_worth_more_than_one_in_use(void **state)
{
    (void)state;
    add(1, 0, ALWAYS, false);
    add(2, 0, 0, true);
    add(3, 0, 0, false);
    assert_int_equal(reap(""), HM_NAMESPACE_REFUSED);
    assert_int_equal(n_there, 2);
    assert_int_equal(there[1].tries, 1);
    assert_string_equal(error.text,
                        "job2.0 is left: no wipe; job1.0 is still in use after 2 s: /dev/nopmem0 is mounted or open "
                        "in no process that /proc shows");
}

static void test_a_wipe_that_wants_more_time_is_another_status(void **state)
{
    (void)state;
    add(1, 0, ALWAYS, false);
    add(2, 0, 0, false);
    there[1].is_late = true;
    add(3, 0, 0, false);
    assert_int_equal(reap(""), HM_NAMESPACE_LATE);
    assert_int_equal(n_there, 2);
    assert_non_null(strstr(error.text, "job2.0 is left: no time; job1.0 is still in use after 2 s: "));
    there[1].is_late = false;
    there[1].fails = true;
    add(4, 0, 0, false);
    there[2].is_late = true;
    assert_int_equal(reap(""), HM_NAMESPACE_REFUSED);
}

static int create(void)
{
    struct hm_namespace_request request = {
        .cluster = "c", .job_id = 7, .bytes = GIB, .filesystem = hm_mkfs_at(0), .patience_s = 1, .lock = lock};
    assert_int_equal(hm_set_parse(&request.sockets, "0,1", &error), 0);
    return hm_namespace_create(&config, &request, &error);
}

static void test_all_is_made_or_nothing(void **state)
{
    (void)state;
    fails_on = 1;
    assert_int_equal(create(), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "mkfs failed on /dev/nopmem1");
    assert_int_equal(n_there, 0);
}

static void test_what_cannot_be_undone_is_said(void **state)
{
    (void)state;
    fails_on = 1;
    stays = true;
    assert_int_equal(create(), HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "mkfs failed on /dev/nopmem1; job7.0 is left: no wipe; job7.1 is left: no wipe");
    assert_int_equal(n_there, 2);
}

static void test_what_nobody_was_told_of_is_undone(void **state)
{
    (void)state;
    fflush(stdout);
    int before = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(dup2(full, STDOUT_FILENO) >= 0);
    int status = create();
    assert_true(dup2(before, STDOUT_FILENO) >= 0);
    close(before);
    close(full);
    assert_int_equal(status, HM_NAMESPACE_REFUSED);
    assert_string_equal(error.text, "cannot print the namespaces");
    assert_int_equal(n_there, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_in_use_is_waited_for_together, setup, drop),
        cmocka_unit_test_setup_teardown(test_no_longer_than_it_takes, setup, drop),
        cmocka_unit_test_setup_teardown(test_a_wipe_that_wants_more_time_is_another_status, setup, drop),
        cmocka_unit_test_setup_teardown(test_a_failure_is_worth_more_than_one_in_use, setup, drop),
        cmocka_unit_test_setup_teardown(test_all_is_made_or_nothing, setup, drop),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_undone_is_said, setup, drop),
        cmocka_unit_test_setup_teardown(test_what_nobody_was_told_of_is_undone, setup, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
