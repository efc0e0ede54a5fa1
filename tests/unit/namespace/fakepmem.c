/* SPDX-License-Identifier: Apache-2.0 */
#include "fakepmem.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/tiers/boot.h"
#include "namespace/mount/detach.h"
#include "namespace/mount/firstmount.h"
#include "namespace/pmem/asked.h"
#include "namespace/pmem/blockdevice.h"
#include "namespace/pmem/mark.h"
#include "namespace/ram/autoonline.h"

struct fake fake;

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int fake_begin(void **state)
{
    (void)state;
    fake =
        (struct fake){.fails_on = -1, .no_mark_on = -1, .now_ms = 1000000, .lock = memfd_create("lock", MFD_CLOEXEC)};
    return flock(fake.lock, LOCK_EX);
}

int fake_end(void **state)
{
    (void)state;
    return close(fake.lock);
}

int hm_asked_allows(const struct hm_config *config, struct hm_error *error)
{
    (void)config;
    return fake.ends_at_boot ? hm_fail(error, EBUSY, "the next boot ends all") : 0;
}

static void name_device(struct hm_namespace *namespace)
{
    const struct hm_owner *owner = &namespace->owner;
    if (owner->kind == HM_OWNER_JOB)
        snprintf(namespace->device, sizeof(namespace->device), "/dev/nopmem%u", owner->socket);
    else
        snprintf(namespace->device, sizeof(namespace->device), "/dev/nokept%u.%u.%u", owner->uid, owner->minute,
                 owner->socket);
}

static struct there *add(const struct hm_namespace *namespace)
{
    assert_true(fake.n_there < MOST);
    struct there *new = &fake.there[fake.n_there++];
    *new = (struct there){.namespace = *namespace};
    snprintf(new->namespace.region, sizeof(new->namespace.region), "region%u", namespace->owner.socket);
    name_device(&new->namespace);
    return new;
}

void fake_add(uint32_t job_id, unsigned socket, int busy, bool fails)
{
    struct hm_namespace namespace = {.owner = {.cluster = "c", .job_id = job_id, .socket = socket}, .bytes = GIB};
    snprintf(namespace.name, sizeof(namespace.name), "job%u.%u", job_id, socket);
    struct there *new = add(&namespace);
    new->busy = busy;
    new->fails = fails;
}

struct there *fake_keep(uint32_t uid, uint32_t minute, unsigned socket, uint64_t bytes)
{
    struct hm_namespace namespace = {
        .owner = {.cluster = "c", .kind = HM_OWNER_USER, .uid = uid, .minute = minute, .socket = socket},
        .bytes = bytes};
    snprintf(namespace.name, sizeof(namespace.name), "user%u.%u", uid, socket);
    struct there *new = add(&namespace);
    new->mark = MARK_THERE;
    return new;
}

static struct there *find(const struct hm_owner *owner)
{
    for (int i = 0; i < fake.n_there; i++)
        if (hm_owner_is_equal(&fake.there[i].namespace.owner, owner))
            return &fake.there[i];
    return NULL;
}

/* Find a namespace by its device. */
static struct there *find_on(const char *device)
{
    for (int i = 0; i < fake.n_there; i++)
        if (strcmp(fake.there[i].namespace.device, device) == 0)
            return &fake.there[i];
    fail_msg("there is no %s", device);
    return NULL;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
    assert_int_equal(time->tv_nsec, 100000000);
    assert_null(rest);
    fake.pauses++;
    fake.now_ms += 100;
    /* Other processes do not have to wait: the lock must be free while this one waits. */
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fake.lock);
    int other = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
    if (fake.at_pause)
        fake.at_pause();
    close(other);
    return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_BOOTTIME)
        return __real_clock_gettime(clock, time);
    *time = (struct timespec){.tv_sec = (time_t)(fake.now_ms / 1000), .tv_nsec = (long)(fake.now_ms % 1000) * 1000000};
    return 0;
}

int hm_topology_of_node(const struct hm_config *of, struct hm_topology *topology, struct hm_error *why)
{
    (void)of, (void)topology, (void)why;
    return 0;
}

const char *hm_mkfs_program(const struct hm_filesystem *filesystem, struct hm_error *why)
{
    (void)filesystem, (void)why;
    return "/sbin/mkfs";
}

int hm_mkfs_run(const struct hm_filesystem *filesystem, const char *device, uint64_t bytes, bool is_kept,
                struct hm_error *why)
{
    (void)filesystem;
    fake.fs_bytes = bytes;
    fake.fs_is_kept = is_kept;
    return device[strlen(device) - 1] == '0' + fake.fails_on ? hm_fail(why, EIO, "mkfs failed on %s", device) : 0;
}

int hm_first_mount(const char *device, const char *filesystem, const char *place, uid_t uid, struct hm_error *why)
{
    (void)device, (void)filesystem, (void)place, (void)uid, (void)why;
    fake.first_mounts++;
    return 0;
}

int hm_look_mount(const char *device, const char *filesystem, const char *place, struct hm_error *why)
{
    (void)place;
    assert_string_equal(filesystem, "xfs");
    fake.looks++;
    int number = find_on(device)->cannot_mount_by;
    return number ? hm_fail(why, number, "cannot mount %s", device) : 0;
}

uint64_t hm_device_bytes(const char *device)
{
    return find_on(device)->namespace.bytes;
}

int hm_mark_write(const char *device, const struct hm_owner *owner, const char *filesystem, struct hm_error *why)
{
    assert_string_equal(filesystem, "ext4");
    if ((int)owner->socket == fake.no_mark_on)
        return hm_fail(why, EIO, "no mark on %s", device);
    find_on(device)->mark = MARK_THERE;
    return 0;
}

int hm_mark_clear(const char *device, struct hm_error *why)
{
    struct there *one = find_on(device);
    if (one->tries < one->busy)
        return hm_fail(why, EBUSY, "%s is in use", device);
    one->mark = MARK_NONE;
    return 0;
}

int hm_mark_read(const char *device, const struct hm_owner *owner, char filesystem[HM_MARK_FS], struct hm_error *why)
{
    const struct there *one = find_on(device);
    assert_true(hm_owner_is_equal(&one->namespace.owner, owner));
    snprintf(filesystem, HM_MARK_FS, "xfs");
    return one->mark == MARK_UNREADABLE ? hm_fail(why, EIO, "cannot read %s", device) : one->mark == MARK_THERE;
}

/* Detaching needs the lock: otherwise the device could belong to another job by now. */
bool hm_detach(const char *device, double end_s, char *names, size_t size)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fake.lock);
    int other = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
    close(other);
    struct there *one = find_on(device);
    uint64_t end_ms = (uint64_t)(end_s * 1000);
    if (fake.detach_hangs && end_ms > fake.now_ms)
        fake.now_ms = end_ms;
    if (fake.detach_hangs)
        return false;
    snprintf(names, size, "12 (sleep)");
    one->detached_after = fake.pauses;
    one->busy = one->has_open_files ? ALWAYS : 0;
    return 1;
}

int hm_autoonline_release(const char *system, const struct hm_config *of, struct hm_error *why)
{
    (void)system, (void)of;
    fake.released++;
    return fake.is_policy_left ? hm_fail(why, EROFS, "cannot write the policy") : 0;
}

int hm_pmem_open(struct hm_pmem **pmem, struct hm_error *why)
{
    *pmem = NULL;
    return fake.no_pmem_by ? hm_fail(why, fake.no_pmem_by, "no libndctl") : 0;
}

void hm_pmem_close(struct hm_pmem *pmem)
{
    (void)pmem;
}

int hm_pmem_regions(struct hm_pmem *pmem, const struct hm_topology *topology, struct hm_region region[HM_PMEM_REGIONS])
{
    (void)pmem, (void)topology;
    for (int i = 0; i < 2; i++) {
        region[i] = (struct hm_region){.socket = i,
                                       .size = GIB,
                                       .free = GIB,
                                       .extent = GIB,
                                       .align = HM_DAX_ALIGN,
                                       .has_labels = true,
                                       .is_enabled = true};
        snprintf(region[i].name, sizeof(region[i].name), "region%d", i);
    }
    return 2;
}

int hm_pmem_owned(struct hm_pmem *pmem, struct hm_namespace **owned, struct hm_error *why)
{
    (void)pmem, (void)why;
    *owned = calloc(MOST, sizeof(**owned));
    assert_non_null(*owned);
    for (int i = 0; i < fake.n_there; i++)
        (*owned)[i] = fake.there[i].namespace;
    return fake.n_there;
}

int hm_pmem_create(struct hm_pmem *pmem, const struct hm_share *share, const struct hm_owner *owner, bool map_in_pmem,
                   struct hm_namespace *made, struct hm_error *why)
{
    (void)pmem, (void)map_in_pmem, (void)why;
    if (owner->kind == HM_OWNER_JOB)
        fake_add(owner->job_id, owner->socket, 0, fake.stays);
    else
        fake_keep(owner->uid, owner->minute, owner->socket, share->bytes)->mark = MARK_NONE;
    *made = fake.there[fake.n_there - 1].namespace;
    return 0;
}

int hm_pmem_remove(struct hm_pmem *pmem, const struct hm_owner *owner, struct hm_error *why)
{
    (void)pmem;
    struct there *one = find(owner);
    if (!one)
        return 0;
    int marked = 0;
    for (int i = 0; i < fake.n_there; i++)
        marked += fake.there[i].mark == MARK_THERE;
    fake.marked = marked > fake.marked ? marked : fake.marked;
    fake.now_ms += fake.try_ms;
    if (one->tries++ < one->busy)
        return hm_fail(why, EBUSY, "in use");
    if (one->late_by)
        return hm_fail(why, one->late_by, "not now");
    if (one->fails)
        return hm_fail(why, EIO, "no wipe");
    memmove(one, one + 1, (size_t)(&fake.there[MOST - 1] - one) * sizeof(*one));
    fake.n_there--;
    return 0;
}

void hm_pmem_revive(struct hm_pmem *pmem, const struct hm_owner *owner)
{
    (void)pmem;
    struct there *one = find(owner);
    assert_non_null(one);
    fake.revived++;
    if (one->can_revive)
        name_device(&one->namespace);
}
