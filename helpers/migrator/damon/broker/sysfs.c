/* SPDX-License-Identifier: Apache-2.0 */
#include "sysfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attribute.h"
#include "base/files.h"
#include "base/path.h"
#include "base/process.h"

#define MARK HM_DAMON_ATTRIBUTES "/intervals/update_us"
/* update_us, the time between DAMON's looks at the mappings, holds our mark in its lower digits */
#define MARK_BASE_US 1000000u
#define MARKS 90000u
#define NUMBER 24 /* bytes of a number's text */

/*
 * Compares a file of kdamond k with `wanted`. Returns 1: equal; 0: different, or there is no such file; -1: the kernel
 * is too busy.
 */
static int compare(unsigned k, const char *file, uint64_t wanted)
{
    char path[128];
    uint64_t value;
    snprintf(path, sizeof(path), "%u/%s", k, file);
    if (hm_damon_attribute_read(path, &value) == 0)
        return value == wanted;
    return errno == EBUSY ? -1 : 0;
}

/*
 * Is kdamond k ours? It is if it carries the mark, or has no context or no target yet: the set-up writes the mark
 * before any target. Returns 1, 0, or -1 if the kernel is too busy to tell.
 */
static int is_ours(unsigned k, uint32_t mark)
{
    const struct {
        const char *file;
        uint64_t value;
    } signs[] = {{MARK, mark}, {"contexts/nr_contexts", 0}, {"contexts/0/targets/nr_targets", 0}};
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        int result = compare(k, signs[i].file, signs[i].value);
        if (result != 0)
            return result;
    }
    return 0;
}

/* Are there as many kdamonds as are ours? Returns as is_ours. */
static int is_number_ours(const struct hm_damon_owned *owned)
{
    uint64_t n;
    if (owned->n == 0)
        return 0;
    if (hm_damon_attribute_read("nr_kdamonds", &n) != 0)
        return errno == EBUSY ? -1 : 0;
    return n == owned->n;
}

/* Are all kdamonds ours? Returns as is_ours. */
static int are_ours(const struct hm_damon_owned *owned)
{
    int result = is_number_ours(owned);
    for (unsigned k = 0; k < owned->n && result == 1; k++)
        result = is_ours(k, owned->mark);
    return result;
}

int hm_damon_set_up(unsigned k, uint32_t mark, struct hm_error *error)
{
    char file[64];
    if (compare(k, MARK, mark) == 1)
        return 0;
    snprintf(file, sizeof(file), "%u/contexts/0/operations", k);
    if (hm_damon_attribute_write(k, 1, error, "contexts/nr_contexts") != 0)
        return -1;
    /*
     * "fvaddr" watches the given ranges only. Older kernels have "vaddr", which begins with them and later chooses
     * three ranges itself.
     */
    if (hm_damon_attribute_write_text(file, "fvaddr", error) != 0 &&
        (errno != EINVAL || hm_damon_attribute_write_text(file, "vaddr", error) != 0))
        return -1;
    return hm_damon_attribute_write(k, mark, error, MARK);
}

int hm_damon_check_kernel(struct hm_error *error)
{
    static const char *const modules[] = {"damon_stat", "damon_reclaim", "damon_lru_sort"};
    char path[96], text[16];
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        snprintf(path, sizeof(path), "/sys/module/%s/parameters/enabled", modules[i]);
        if (hm_file_read(path, text, sizeof(text), NULL) == 0 && text[0] == 'Y')
            return hm_fail(error, EBUSY, "the kernel's own %s holds DAMON: write N to %s", modules[i], path);
    }
    return 0;
}

static int fail_busy(struct hm_error *error)
{
    return hm_fail(error, EBUSY, "cannot tell whose the kdamonds in " HM_DAMON_ROOT " are: somebody keeps them busy");
}

int hm_damon_create(const char *path, unsigned n, struct hm_damon_owned *owned, struct hm_error *error)
{
    uint64_t existing;
    char text[NUMBER];
    struct timespec now;
    if (hm_damon_attribute_read("nr_kdamonds", &existing) != 0)
        return errno == EBUSY ? fail_busy(error)
                              : hm_fail(error, ENODEV,
                                        "this kernel has no DAMON for processes in sysfs (CONFIG_DAMON_SYSFS, _VADDR)");
    if (existing != 0)
        return hm_fail(error, EBUSY, "somebody else on this node uses DAMON: %llu kdamonds that are not hybridmem's",
                       (unsigned long long)existing);
    clock_gettime(CLOCK_REALTIME, &now);
    *owned = (struct hm_damon_owned){.n = n, .mark = MARK_BASE_US + 1 + (uint32_t)(now.tv_nsec / 1000 % MARKS)};
    snprintf(text, sizeof(text), "%u", n);
    if (hm_damon_state_write(path, owned, error) != 0 ||
        hm_damon_attribute_write_text("nr_kdamonds", text, error) != 0) {
        int number = errno;
        *owned = (struct hm_damon_owned){0};
        unlink(path);
        errno = number;
        return -1;
    }
    return 0;
}

int hm_damon_take_over(const char *path, struct hm_damon_owned *owned, struct hm_error *error)
{
    *owned = (struct hm_damon_owned){0};
    int found = hm_damon_state_read(path, owned) == 0 ? are_ours(owned) : 0;
    if (found > 0) {
        for (unsigned k = 0; k < owned->n; k++)
            hm_damon_stop(k, owned);
        return 0;
    }
    *owned = (struct hm_damon_owned){0};
    if (found < 0)
        return fail_busy(error);
    unlink(path);
    return 0;
}

int hm_damon_check_owned(unsigned k, const char *path, struct hm_damon_owned *owned, struct hm_error *error)
{
    int found = is_number_ours(owned);
    if (found > 0)
        found = is_ours(k, owned->mark);
    if (found > 0)
        return 0;
    if (found < 0)
        return fail_busy(error);
    if (owned->n > 0)
        unlink(path);
    *owned = (struct hm_damon_owned){0};
    return hm_fail(error, EBUSY, "somebody else has made kdamonds on this node: those of hybridmem are gone");
}

int hm_damon_remove(const char *path, struct hm_damon_owned *owned, struct hm_error *error)
{
    if (owned->n == 0)
        return 0;
    int found = are_ours(owned);
    if (found < 0)
        return fail_busy(error);
    if (found > 0) {
        for (unsigned k = 0; k < owned->n; k++)
            hm_damon_stop(k, owned);
        if (hm_damon_attribute_write_text("nr_kdamonds", "0", error) != 0)
            return -1;
    }
    *owned = (struct hm_damon_owned){0};
    unlink(path);
    return 0;
}

static int write_state(unsigned k, const char *state, struct hm_error *error)
{
    char file[64];
    snprintf(file, sizeof(file), "%u/state", k);
    return hm_damon_attribute_write_text(file, state, error);
}

pid_t hm_damon_turn_on(unsigned k, const struct hm_damon_owned *owned, struct hm_error *error)
{
    char file[64];
    uint64_t thread;
    int result = write_state(k, "on", error), number = ESRCH;
    /* It may be on since nobody could turn it off; or somebody else has just made it, and uses it. */
    if (result != 0 && errno == EBUSY && compare(k, MARK, owned->mark) == 1 && hm_damon_turn_off(k, owned) == 0)
        result = write_state(k, "on", error);
    if (result != 0)
        return -1;
    snprintf(file, sizeof(file), "%u/pid", k);
    if (hm_damon_attribute_read(file, &thread) != 0)
        number = errno == EBUSY ? EBUSY : ESRCH;
    else if (thread > 0 && thread < INT32_MAX)
        return (pid_t)thread;
    hm_damon_turn_off(k, owned);
    return number == EBUSY
               ? hm_fail(error, EBUSY, "cannot read the thread of kdamond %u: DAMON's files are busy", k)
               : hm_fail(error, ESRCH, "kdamond %u ended at once: its processes have ended, or the kernel refused them",
                         k);
}

/* Is kdamond k one that we have made? Where its thread has ended by itself, it may be somebody else's by now. */
static int may_touch(unsigned k, const struct hm_damon_owned *owned)
{
    return k < owned->n ? is_ours(k, owned->mark) : 0;
}

int hm_damon_turn_off(unsigned k, const struct hm_damon_owned *owned)
{
    int found = may_touch(k, owned);
    if (found <= 0)
        return found;
    return write_state(k, "off", NULL) != 0 && errno == EBUSY ? -1 : 0;
}

void hm_damon_stop(unsigned k, const struct hm_damon_owned *owned)
{
    hm_damon_turn_off(k, owned);
    if (may_touch(k, owned) <= 0)
        return;
    /* Process numbers must not stay in the targets: they may belong to other processes later. */
    hm_damon_attribute_write(k, 0, NULL, "contexts/0/targets/nr_targets");
}

uint64_t hm_damon_cpu_ns(pid_t kdamond)
{
    static const char name[] = "kdamond.";
    char path[64], text[128], comm[32];
    unsigned long long ns;
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)kdamond);
    if (hm_file_read(path, text, sizeof(text), NULL) != 0 || sscanf(text, "%llu ", &ns) != 1)
        return 0;
    /* After the thread's end, its number may belong to another process. */
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)kdamond);
    if (hm_file_read(path, comm, sizeof(comm), NULL) != 0 || strncmp(comm, name, strlen(name)) != 0)
        return 0;
    return ns;
}
