/* SPDX-License-Identifier: Apache-2.0 */
#include "sysfs.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/path.h"
#include "base/process.h"
#include "base/size.h"

#define ROOT "/sys/kernel/mm/damon/admin/kdamonds"
#define ATTRIBUTES "contexts/0/monitoring_attrs"
#define MARK ATTRIBUTES "/intervals/update_us"
/* update_us, the time between DAMON's looks at the mappings, holds our mark in its lower digits */
#define MARK_BASE_US 1000000u
#define MARKS 90000u
#define BUSY_PAUSE_NS 5000000L
#define BUSY_TRIES 200 /* 1 s */
#define NUMBER 24      /* bytes of a number's text */

/*
 * Did the call fail with EBUSY, and is there a try left? Then this waits before it returns. The kernel does not wait
 * for its lock: while one process reads or writes one of these files, others get EBUSY.
 */
static bool is_busy(int tries)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
    return errno == EBUSY && tries < BUSY_TRIES && nanosleep(&pause, NULL) == 0;
}

static int write_text(const char *file, const char *text, struct hm_error *error)
{
    char path[256];
    snprintf(path, sizeof(path), ROOT "/%s", file);
    int result = hm_file_write(path, text, error);
    for (int tries = 0; result != 0 && is_busy(tries); tries++)
        result = hm_file_write(path, text, error);
    return result;
}

/* Writes a number to a file of kdamond k. The file's name may contain numbers (printf style). */
static int write_number(unsigned k, uint64_t value, struct hm_error *error, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static int write_number(unsigned k, uint64_t value, struct hm_error *error, const char *format, ...)
{
    char file[192], text[NUMBER];
    int length = snprintf(file, sizeof(file), "%u/", k);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(file + length, sizeof(file) - (size_t)length, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return write_text(file, text, error);
}

/* Returns 0 and the number, or -1. */
static int read_number(const char *file, uint64_t *value)
{
    char path[256], text[NUMBER];
    snprintf(path, sizeof(path), ROOT "/%s", file);
    int result = hm_file_read(path, text, sizeof(text), NULL);
    for (int tries = 0; result != 0 && is_busy(tries); tries++)
        result = hm_file_read(path, text, sizeof(text), NULL);
    if (result != 0)
        return -1;
    return hm_size_parse_number(text, 0, UINT64_MAX, value, NULL);
}

/*
 * Compares a file of kdamond k with `wanted`. Returns 1: equal; 0: different, or there is no such file; -1: the kernel
 * is too busy.
 */
static int compare(unsigned k, const char *file, uint64_t wanted)
{
    char path[128];
    uint64_t value;
    snprintf(path, sizeof(path), "%u/%s", k, file);
    if (read_number(path, &value) == 0)
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

/* Are all kdamonds ours? Returns as is_ours. */
static int are_ours(const struct hm_damon_owned *owned)
{
    uint64_t n;
    int result = 1;
    if (owned->n == 0)
        return 0;
    if (read_number("nr_kdamonds", &n) != 0)
        return errno == EBUSY ? -1 : 0;
    if (n != owned->n)
        return 0;
    for (unsigned k = 0; k < owned->n && result == 1; k++)
        result = is_ours(k, owned->mark);
    return result;
}

/*
 * Sets kdamond k up when it is first used, and not earlier: the set-up makes some twenty files in the kernel. The mark
 * is written last: it says that the set-up is complete.
 */
static int set_up(unsigned k, uint32_t mark, struct hm_error *error)
{
    char file[64];
    if (compare(k, MARK, mark) == 1)
        return 0;
    snprintf(file, sizeof(file), "%u/contexts/0/operations", k);
    if (write_number(k, 1, error, "contexts/nr_contexts") != 0)
        return -1;
    /*
     * "fvaddr" watches the given ranges only. Older kernels have "vaddr", which begins with them and later chooses
     * three ranges itself.
     */
    if (write_text(file, "fvaddr", error) != 0 && (errno != EINVAL || write_text(file, "vaddr", error) != 0))
        return -1;
    return write_number(k, mark, error, MARK);
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
    return hm_fail(error, EBUSY, "cannot tell whose the kdamonds in " ROOT " are: somebody keeps them busy");
}

int hm_damon_create(const char *path, unsigned n, struct hm_damon_owned *owned, struct hm_error *error)
{
    uint64_t existing;
    char text[NUMBER];
    struct timespec now;
    if (read_number("nr_kdamonds", &existing) != 0)
        return errno == EBUSY ? fail_busy(error)
                              : hm_fail(error, ENODEV,
                                        "this kernel has no DAMON for processes in sysfs (CONFIG_DAMON_SYSFS, _VADDR)");
    if (existing != 0)
        return hm_fail(error, EBUSY, "somebody else on this node uses DAMON: %llu kdamonds that are not hybridmem's",
                       (unsigned long long)existing);
    clock_gettime(CLOCK_REALTIME, &now);
    *owned = (struct hm_damon_owned){.n = n, .mark = MARK_BASE_US + 1 + (uint32_t)(now.tv_nsec / 1000 % MARKS)};
    snprintf(text, sizeof(text), "%u", n);
    if (hm_damon_state_write(path, owned, error) != 0 || write_text("nr_kdamonds", text, error) != 0) {
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
            hm_damon_stop(k);
        return 0;
    }
    *owned = (struct hm_damon_owned){0};
    if (found < 0)
        return fail_busy(error);
    unlink(path);
    return 0;
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
            hm_damon_stop(k);
        if (write_text("nr_kdamonds", "0", error) != 0)
            return -1;
    }
    *owned = (struct hm_damon_owned){0};
    unlink(path);
    return 0;
}

static int write_settings(unsigned k, const struct hm_damon_settings *settings, struct hm_error *error)
{
    uint64_t aggregation_us = (uint64_t)settings->look_us * HM_DAMON_LOOKS;
    if (write_number(k, settings->max_regions, error, ATTRIBUTES "/nr_regions/max") != 0 ||
        write_number(k, settings->min_regions, error, ATTRIBUTES "/nr_regions/min") != 0)
        return -1;
    if (write_number(k, settings->look_us, error, ATTRIBUTES "/intervals/sample_us") != 0)
        return -1;
    return write_number(k, aggregation_us, error, ATTRIBUTES "/intervals/aggr_us");
}

static int write_target(unsigned k, unsigned t, const struct hm_damon_process *process, struct hm_error *error)
{
    if (write_number(k, (uint64_t)process->pid, error, "contexts/0/targets/%u/pid_target", t) != 0 ||
        write_number(k, process->n_ranges, error, "contexts/0/targets/%u/regions/nr_regions", t) != 0)
        return -1;
    for (uint32_t r = 0; r < process->n_ranges; r++)
        if (write_number(k, process->range[r].start, error, "contexts/0/targets/%u/regions/%u/start", t, r) != 0 ||
            write_number(k, process->range[r].end, error, "contexts/0/targets/%u/regions/%u/end", t, r) != 0)
            return -1;
    return 0;
}

pid_t hm_damon_start(unsigned k, const struct hm_damon_owned *owned, const struct hm_damon_settings *settings,
                     const struct hm_damon_process *process, unsigned n_processes, struct hm_error *error)
{
    char file[64];
    uint64_t kdamond;
    if (set_up(k, owned->mark, error) != 0 || write_settings(k, settings, error) != 0 ||
        write_number(k, n_processes, error, "contexts/0/targets/nr_targets") != 0)
        return -1;
    for (unsigned t = 0; t < n_processes; t++)
        if (write_target(k, t, &process[t], error) != 0)
            return -1;
    snprintf(file, sizeof(file), "%u/state", k);
    if (write_text(file, "on", error) != 0)
        return -1;
    snprintf(file, sizeof(file), "%u/pid", k);
    if (read_number(file, &kdamond) == 0 && kdamond > 0 && kdamond < INT32_MAX)
        return (pid_t)kdamond;
    hm_damon_stop(k);
    return hm_fail(error, ESRCH, "kdamond %u ended at once: its processes have ended, or the kernel refused them", k);
}

int hm_damon_change(unsigned k, const struct hm_damon_settings *settings, struct hm_error *error)
{
    char file[64];
    snprintf(file, sizeof(file), "%u/state", k);
    return write_settings(k, settings, error) != 0 ? -1 : write_text(file, "commit", error);
}

void hm_damon_stop(unsigned k)
{
    char file[64];
    snprintf(file, sizeof(file), "%u/state", k);
    write_text(file, "off", NULL);
    /* Process numbers must not stay in the targets: they may belong to other processes later. */
    write_number(k, 0, NULL, "contexts/0/targets/nr_targets");
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
