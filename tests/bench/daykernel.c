/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the simulated node (daysim.h): time and files. Functions named __wrap_... replace real ones at link
 * time. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daysim.h"

#define FILES 65536
#define PAGE_KIB 4
#define EPOCH_S 1790000000 /* CLOCK_REALTIME when CLOCK_MONOTONIC is 0 */
#define CALL_NS 1000       /* CPU time of a call of clock_gettime */

unsigned day_cpus = DAY_CPUS;
static struct {
    char root[128];
    uint64_t now_ns, cpu_ns;
    uint64_t written_ns;  /* when the files were last updated */
    bool is_stale;        /* memory has changed since */
    pid_t pagemap[FILES]; /* the process whose page map the descriptor is; 0: it is something else */
} kernel;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);
int __real_close(int fd);
int __wrap_close(int fd);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

void day_die(const char *what)
{
    fprintf(stderr, "day: %s: %s\n", what, strerror(errno));
    exit(2);
}

/* ------------------------------------------------------------------ time */

uint64_t day_now_ns(void)
{
    return kernel.now_ns;
}

void day_pass(uint64_t ns)
{
    kernel.now_ns += ns;
}

void day_work(uint64_t ns)
{
    kernel.now_ns += ns;
    kernel.cpu_ns += ns;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
    day_work(CALL_NS);
    uint64_t ns = clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME ? kernel.now_ns : kernel.cpu_ns;
    *out = (struct timespec){.tv_sec = (time_t)(ns / DAY_SECOND), .tv_nsec = (long)(ns % DAY_SECOND)};
    out->tv_sec += clock == CLOCK_REALTIME ? EPOCH_S : 0;
    return 0;
}

/* ------------------------------------------------------------------ files */

const char *day_root(void)
{
    return kernel.root;
}

void day_write(const char *path, const char *text)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s%s", kernel.root, path);
    /* Write in place, as some files are kept open. */
    int fd = __real_open(whole, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ssize_t length = (ssize_t)strlen(text);
    if (fd < 0 || pwrite(fd, text, (size_t)length, 0) != length || ftruncate(fd, length) != 0)
        day_die(whole);
    __real_close(fd);
}

static void make_folder(const char *path)
{
    char whole[512];
    snprintf(whole, sizeof(whole), "%s%s", kernel.root, path);
    for (char *at = whole + strlen(kernel.root) + 1;; *at++ = '/') {
        at = strchrnul(at, '/');
        bool is_last = *at == '\0';
        *at = '\0';
        if (mkdir(whole, 0700) != 0 && errno != EEXIST)
            day_die(whole);
        if (is_last)
            return;
    }
}

/* Update the files that change with time and pages. All CPUs of the step are busy. */
void day_kernel_refresh(void)
{
    char text[512], path[64];
    if (!kernel.is_stale && kernel.now_ns - kernel.written_ns < DAY_SECOND)
        return;
    kernel.is_stale = false;
    kernel.written_ns = kernel.now_ns;
    snprintf(text, sizeof(text), "usage_usec %llu\n", (unsigned long long)kernel.now_ns / 1000 * day_cpus);
    day_write(DAY_CGROUP "/cpu.stat", text);
    uint64_t bytes[DAY_NODES];
    for (int i = 0; i < DAY_NODES; i++) {
        bytes[i] = day_pages_used(i) * PAGE_KIB * 1024;
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/meminfo", i);
        snprintf(text, sizeof(text),
                 "Node %d MemTotal: %llu kB\nNode %d MemFree: %llu kB\nNode %d Active(file): 0 kB\n"
                 "Node %d Inactive(file): 0 kB\nNode %d Dirty: 0 kB\nNode %d Writeback: 0 kB\n",
                 i, (unsigned long long)day_node_pages[i] * PAGE_KIB, i,
                 (unsigned long long)(day_node_pages[i] - day_pages_used(i)) * PAGE_KIB, i, i, i, i);
        day_write(path, text);
    }
    snprintf(text, sizeof(text), "anon N0=%llu N1=%llu N2=%llu N3=%llu\nfile N0=0 N1=0 N2=0 N3=0\n",
             (unsigned long long)bytes[0], (unsigned long long)bytes[1], (unsigned long long)bytes[2],
             (unsigned long long)bytes[3]);
    day_write(DAY_CGROUP "/memory.numa_stat", text);
}

/* Writes how much of a rank is in memory: the pages of its slots, and none of what the real process has. That depends
 * on what else this machine does, and the migrator asks for it when it orders processes. */
static void write_statm(const struct day_rank *rank)
{
    char text[64];
    unsigned long long n = day_pages_resident(rank);
    snprintf(text, sizeof(text), "%llu %llu 0 0 0 0 0\n", n, n);
    day_write("/proc/statm", text);
}

/* Find the real path of a file, and the process if it is a page map. */
static const char *resolve(const char *path, char *out, size_t size, pid_t *pagemap)
{
    int pid = 0;
    char name[16] = "";
    *pagemap = 0;
    if (strncmp(path, "/sys/", 5) == 0 || strncmp(path, "/proc/sys/", 10) == 0) {
        day_kernel_refresh();
        snprintf(out, size, "%s%s", kernel.root, path);
        return out;
    }
    if (sscanf(path, "/proc/%d/%15s", &pid, name) != 2)
        return path;
    if (strcmp(name, "cgroup") == 0) {
        snprintf(out, size, "%s/proc/cgroup", kernel.root);
        return out;
    }
    const struct day_rank *rank = strcmp(name, "statm") == 0 ? day_rank_find(pid) : NULL;
    if (rank) {
        write_statm(rank);
        snprintf(out, size, "%s/proc/statm", kernel.root);
        return out;
    }
    *pagemap = strcmp(name, "pagemap") == 0 ? pid : 0;
    return *pagemap || strcmp(name, "clear_refs") == 0 ? "/dev/null" : path;
}

void day_kernel_change(void)
{
    kernel.is_stale = true;
}

pid_t day_kernel_pagemap(int fd)
{
    return kernel.pagemap[fd];
}

static int note(int fd, pid_t pagemap)
{
    if (fd >= FILES)
        day_die("too many descriptors");
    if (fd >= 0)
        kernel.pagemap[fd] = pagemap;
    return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    char where[512];
    pid_t pagemap;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    path = resolve(path, where, sizeof(where), &pagemap);
    return note(__real_open(path, flags, mode), pagemap);
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    char where[512];
    pid_t pagemap;
    va_start(list, flags);
    mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    day_kernel_refresh();
    path = resolve(path, where, sizeof(where), &pagemap);
    return note(__real_openat(folder, path, flags, mode), pagemap);
}

/* The watermarks of this machine's nodes are not those of the simulated ones: these have none. */
FILE *__wrap_fopen(const char *path, const char *mode)
{
    return __real_fopen(strcmp(path, "/proc/zoneinfo") == 0 ? "/dev/null" : path, mode);
}

int __wrap_close(int fd)
{
    day_perf_close(fd);
    return __real_close(fd);
}

void day_cgroup_add(pid_t pid)
{
    char path[128], text[32];
    snprintf(path, sizeof(path), DAY_CGROUP "/user/task_%d", (int)pid);
    make_folder(path);
    snprintf(path, sizeof(path), DAY_CGROUP "/user/task_%d/cgroup.procs", (int)pid);
    snprintf(text, sizeof(text), "%d\n", (int)pid);
    day_write(path, text);
}

void day_cgroup_remove(pid_t pid)
{
    char path[512];
    snprintf(path, sizeof(path), "%s" DAY_CGROUP "/user/task_%d/cgroup.procs", kernel.root, (int)pid);
    if (unlink(path) != 0)
        day_die(path);
    *strrchr(path, '/') = '\0';
    if (rmdir(path) != 0)
        day_die(path);
}

void day_cgroup_end(void)
{
    day_write(DAY_CGROUP "/cgroup.events", "populated 0\nfrozen 0\n");
}

void day_kernel_start(const char *root)
{
    static const char *const distances[DAY_NODES] = {"10 21 17 28\n", "21 10 28 17\n", "17 28 10 28\n",
                                                     "28 17 28 10\n"};
    char path[64], cpus[16];
    snprintf(kernel.root, sizeof(kernel.root), "%s", root);
    kernel.now_ns = 1000 * DAY_SECOND;
    kernel.is_stale = true;
    make_folder(DAY_CGROUP "/user");
    make_folder("/sys/kernel/mm/transparent_hugepage");
    make_folder("/proc/sys/kernel");
    for (int i = 0; i < DAY_NODES; i++) {
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", i);
        make_folder(path);
        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/distance", i);
        day_write(path, distances[i]);
    }
    day_write("/sys/devices/system/node/online", "0-3\n");
    day_write("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
    day_write("/proc/sys/kernel/numa_balancing", "0\n");
    day_write("/proc/cgroup", "0::/day/user\n");
    day_write(DAY_CGROUP "/cgroup.procs", "");
    day_write(DAY_CGROUP "/cgroup.events", "populated 1\nfrozen 0\n");
    snprintf(cpus, sizeof(cpus), "0-%u\n", day_cpus - 1);
    day_write(DAY_CGROUP "/cpuset.cpus.effective", cpus);
    day_write(DAY_CGROUP "/memory.peak", "0\n");
    day_kernel_refresh();
}
