/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"

/* The kernel writes a cgroup's file anew at each read, so one read must get all of it: a memory.numa_stat with 40 keys
 * for 128 nodes has less than 128 KiB. Only the part of the buffer that is used becomes resident. */
#define TEXT_SIZE (256 * 1024)

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void hm_cgroup_close(struct hm_cgroup *cgroup)
{
    close_one(&cgroup->numa_stat);
    close_one(&cgroup->peak);
    close_one(&cgroup->current);
    for (; cgroup->n_hugetlb > 0; cgroup->n_hugetlb--)
        close_one(&cgroup->hugetlb[cgroup->n_hugetlb - 1]);
    close_one(&cgroup->dir);
    free(cgroup->text);
    cgroup->text = NULL;
}

int hm_cgroup_open(struct hm_cgroup *cgroup, const char *path)
{
    *cgroup = (struct hm_cgroup){.dir = -1, .numa_stat = -1, .peak = -1, .current = -1};
    cgroup->text = malloc(TEXT_SIZE);
    if (!cgroup->text)
        return -1;
    cgroup->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (cgroup->dir >= 0)
        return 0;
    int number = errno;
    hm_cgroup_close(cgroup);
    errno = number;
    return -1;
}

/* Read a file into cgroup->text, and open it first where needed. Returns the length, or -1 with errno. */
static ssize_t read_file(const struct hm_cgroup *cgroup, int *fd, const char *name)
{
    if (*fd < 0)
        *fd = openat(cgroup->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (*fd < 0)
        return -1;
    ssize_t length = hm_file_read_open(*fd, cgroup->text, TEXT_SIZE);
    if (length == TEXT_SIZE - 1) {
        errno = EFBIG;
        return -1;
    }
    return length;
}

/* Note what is missing, unless something was noted before: later things are often missing because of the first. */
static void note(struct hm_reading *reading, const char *what, int number)
{
    if (reading->missing[0])
        return;
    snprintf(reading->missing, sizeof(reading->missing), "%s of the job's cgroup: %s%s", what, strerror(number),
             number == ENOENT ? " (is the memory controller on for jobs?)" : "");
}

static int read_number(const struct hm_cgroup *cgroup, int *fd, const char *name, uint64_t *number)
{
    ssize_t length = read_file(cgroup, fd, name);
    if (length < 0)
        return -1;
    const char *text = cgroup->text;
    ssize_t digits = 0;
    for (*number = 0; digits < length && text[digits] >= '0' && text[digits] <= '9'; digits++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(text[digits] - '0'), number))
            break;
    if (digits > 0 && (digits == length || text[digits] == '\n'))
        return 0;
    errno = EBADMSG;
    return -1;
}

static int read_peak(struct hm_cgroup *cgroup, struct hm_reading *reading)
{
    reading->peak_source = HM_PEAK_KERNEL;
    if (read_number(cgroup, &cgroup->peak, "memory.peak", &reading->peak) == 0)
        return 0;
    if (errno == ENODEV)
        return -1;
    reading->peak_source = HM_PEAK_SAMPLED;
    if (read_number(cgroup, &cgroup->current, "memory.current", &reading->peak) == 0)
        return 0;
    if (errno == ENODEV)
        return -1;
    reading->peak_source = HM_PEAK_NONE;
    note(reading, "memory.current", errno);
    return 0;
}

/* Open hugetlb.2MB.numa_stat, hugetlb.1GB.numa_stat and so on. They exist only where the hugetlb controller is on for
 * jobs, which is rare. */
static void find_hugetlb(struct hm_cgroup *cgroup)
{
    int copy = openat(cgroup->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy < 0 ? NULL : fdopendir(copy);
    if (!list) {
        if (copy >= 0)
            close(copy);
        return;
    }
    static const char start[] = "hugetlb.", end[] = ".numa_stat";
    for (struct dirent *entry; cgroup->n_hugetlb < HM_CGROUP_HUGETLB && (entry = readdir(list));) {
        size_t length = strlen(entry->d_name);
        if (length < sizeof(start) + sizeof(end) || strncmp(entry->d_name, start, sizeof(start) - 1) != 0 ||
            strcmp(entry->d_name + length - (sizeof(end) - 1), end) != 0)
            continue;
        int fd = openat(cgroup->dir, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd >= 0)
            cgroup->hugetlb[cgroup->n_hugetlb++] = fd;
    }
    closedir(list);
}

static int read_hugetlb(struct hm_cgroup *cgroup, const struct hm_node_map *map, struct hm_reading *reading,
                        bool *outside)
{
    reading->has_hugetlb = cgroup->n_hugetlb > 0;
    for (int i = 0; i < cgroup->n_hugetlb; i++) {
        ssize_t length = read_file(cgroup, &cgroup->hugetlb[i], "");
        if (length >= 0 && hm_hugetlb_parse(cgroup->text, (size_t)length, map, reading->usage, outside) == 0)
            continue;
        if (errno == ENODEV)
            return -1;
        reading->has_hugetlb = false;
        note(reading, "hugetlb.*.numa_stat", errno);
    }
    return 0;
}

int hm_cgroup_read(struct hm_cgroup *cgroup, const struct hm_node_map *map, struct hm_reading *reading)
{
    bool outside = false, first = cgroup->numa_stat < 0;
    *reading = (struct hm_reading){0};
    ssize_t length = read_file(cgroup, &cgroup->numa_stat, "memory.numa_stat");
    if (length >= 0 && hm_numastat_parse(cgroup->text, (size_t)length, map, reading->usage, &outside) == 0)
        reading->has_usage = true;
    else if (errno == ENODEV)
        return -1;
    else
        note(reading, "memory.numa_stat", errno);
    if (read_peak(cgroup, reading) != 0)
        return -1;
    if (first && reading->has_usage)
        find_hugetlb(cgroup);
    if (reading->has_usage && read_hugetlb(cgroup, map, reading, &outside) != 0)
        return -1;
    if (outside && !reading->missing[0])
        snprintf(reading->missing, sizeof(reading->missing), "the job has memory on a node that is in no tier");
    return 0;
}
