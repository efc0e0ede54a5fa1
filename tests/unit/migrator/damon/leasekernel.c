/* SPDX-License-Identifier: Apache-2.0 */
#include "leasekernel.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/files.h"
#include "base/pagesize.h"
#include "migrator/damon/broker/lease.h"

#define FILES 64
#define DESCRIPTORS 1024

struct kernel kernel;
static struct {
    unsigned n;
    char path[FILES][128], text[FILES][32];
    char opened[DESCRIPTORS][128]; /* paths of DAMON's files and folders that are open, by descriptor; "": another's */
} files;

int __real_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *name, int flags, ...);
int __wrap_openat(int folder, const char *name, int flags, ...);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __real_stat(const char *path, struct stat *status);
int __wrap_stat(const char *path, struct stat *status);
int __wrap_hm_damon_tracepoint_open(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                                    pid_t kdamond, struct hm_error *error);
void __wrap_hm_damon_tracepoint_read(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                                     hm_damon_gathering_sink *sink, void *data);

static bool is_damons(const char *path)
{
    return strncmp(path, DAMON_FILES, strlen(DAMON_FILES)) == 0;
}

void kernel_put(const char *path, const char *text)
{
    unsigned i = 0;
    while (i < files.n && strcmp(files.path[i], path) != 0)
        i++;
    assert_true(i < FILES);
    files.n = i < files.n ? files.n : i + 1;
    snprintf(files.path[i], sizeof(files.path[i]), "%s", path);
    snprintf(files.text[i], sizeof(files.text[i]), "%s", text);
}

const char *kernel_text(const char *name)
{
    for (unsigned i = 0; i < files.n; i++)
        if (is_damons(files.path[i]) && strcmp(files.path[i] + strlen(DAMON_FILES), name) == 0)
            return files.text[i];
    return "";
}

void kernel_set_number(const char *text)
{
    char path[128];
    files.n = 0;
    kernel_put(DAMON_FILES "nr_kdamonds", text);
    for (int k = 0; k < atoi(text); k++) {
        snprintf(path, sizeof(path), DAMON_FILES "%d/contexts/nr_contexts", k);
        kernel_put(path, "0");
    }
}

int __wrap_hm_file_read(const char *path, char *out, size_t size, struct hm_error *error)
{
    if (is_damons(path) && kernel.is_busy)
        return hm_fail(error, EBUSY, "cannot read %s", path);
    for (unsigned i = 0; i < files.n; i++) {
        if (strcmp(files.path[i], path) != 0)
            continue;
        snprintf(out, size, "%s", files.text[i]);
        return 0;
    }
    return is_damons(path) ? hm_fail(error, ENOENT, "cannot read %s", path)
                           : __real_hm_file_read(path, out, size, error);
}

void kernel_use_cpu(int k, uint64_t ns)
{
    char text[32], path[64];
    snprintf(path, sizeof(path), "/proc/%d/schedstat", THREAD + k);
    snprintf(text, sizeof(text), "%llu 0 0", (unsigned long long)ns);
    kernel_put(path, text);
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Starts kdamond k. */
static int start(int k, struct hm_error *error)
{
    char text[32], path[64];
    pid_t thread = THREAD + k;
    if (kernel.ends_at_start)
        end(kernel.ends_at_start);
    if (kernel.refuses_on || kernel.ends_at_start)
        return hm_fail(error, EINVAL, "cannot write state");
    kernel.starts++;
    kernel.is_busy = kernel.is_busy_from_on;
    snprintf(path, sizeof(path), DAMON_FILES "%d/pid", k);
    snprintf(text, sizeof(text), "%d", (int)thread);
    kernel_put(path, text);
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)thread);
    snprintf(text, sizeof(text), "kdamond.%d", k);
    kernel_put(path, text);
    kernel_use_cpu(k, kernel.burst_cpu_ns);
    return 0;
}

int hm_file_write(const char *path, const char *text, struct hm_error *error)
{
    assert_true(is_damons(path));
    if (kernel.is_busy)
        return hm_fail(error, EBUSY, "cannot write %s", path);
    kernel.now_ns += strcmp(text, "on") == 0 ? kernel.on_ns : strcmp(text, "off") == 0 ? kernel.off_ns : 0;
    if (strcmp(text, "off") == 0 && kernel.refuses_off)
        return hm_fail(error, EBUSY, "cannot write %s", path);
    if (strcmp(text, "on") == 0 && strcmp(kernel_text(path + strlen(DAMON_FILES)), "on") == 0)
        return hm_fail(error, EBUSY, "cannot write %s", path);
    if (strcmp(path, DAMON_FILES "nr_kdamonds") == 0)
        kernel_set_number(text);
    else if (strcmp(text, "on") == 0 && start(atoi(path + strlen(DAMON_FILES)), error) != 0)
        return -1;
    else
        kernel_put(path, text);
    if (strcmp(text, "commit") == 0) {
        kernel.commits++;
        kernel.now_ns += kernel.commit_ns;
        if (kernel.ends_at_commit)
            end(kernel.ends_at_commit);
    }
    return 0;
}

/* A descriptor for a file or folder of DAMON's. */
static int open_damons(const char *path)
{
    int fd = __real_open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_in_range(fd, 0, DESCRIPTORS - 1);
    snprintf(files.opened[fd], sizeof(files.opened[fd]), "%s", path);
    return fd;
}

/* This descriptor is of another file. */
static int forget(int fd)
{
    assert_in_range(fd, 0, DESCRIPTORS - 1);
    files.opened[fd][0] = '\0';
    return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
    if (is_damons(path))
        return open_damons(path);
    int fd = __real_open(path, flags, 0600);
    return fd < 0 ? fd : forget(fd);
}

int __wrap_openat(int folder, const char *name, int flags, ...)
{
    char path[128];
    if (folder < 0 || !files.opened[folder][0]) {
        int fd = __real_openat(folder, name, flags, 0600);
        return fd < 0 ? fd : forget(fd);
    }
    snprintf(path, sizeof(path), "%.80s/%.40s", files.opened[folder], name);
    return open_damons(path);
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    char text[32];
    assert_true(offset == 0 && is_damons(files.opened[fd]));
    snprintf(text, sizeof(text), "%.*s", (int)size, (const char *)bytes);
    return hm_file_write(files.opened[fd], text, NULL) == 0 ? (ssize_t)size : -1;
}

int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted, (void)left;
    return 0;
}

/* The broker itself takes no CPU time. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    uint64_t ns = clock == CLOCK_MONOTONIC ? kernel.now_ns : 0;
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_PROCESS_CPUTIME_ID)
        return __real_clock_gettime(clock, time);
    *time = (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
    return 0;
}

int __wrap_stat(const char *path, struct stat *status)
{
    int result = __real_stat(path, status);
    if (strncmp(path, "/proc/", 6) == 0)
        status->st_uid = kernel.owner;
    return result;
}

int __wrap_hm_damon_tracepoint_open(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                                    pid_t kdamond, struct hm_error *error)
{
    (void)layout;
    assert_in_range(kdamond, THREAD, THREAD + 1);
    *tracepoint = (struct hm_damon_tracepoint){.fd = -1};
    return kernel.refuses_perf ? hm_fail(error, EACCES, "cannot follow kdamond %d by perf", (int)kdamond) : 0;
}

/* Gives the list of the burst's target t, whose first probe is `first`. Returns the first probe of the next one. */
static unsigned give_bursts_list(const struct hm_damon_burst *burst, uint32_t t, unsigned first,
                                 hm_damon_gathering_sink *sink, void *data)
{
    static struct hm_damon_gathering list;
    const struct hm_damon_probe *probe = burst->probe;
    unsigned i = first;
    list.target = t;
    list.time_ns = kernel.told_ns;
    for (list.n = 0; i < burst->n && probe[i].process == probe[first].process; i++)
        list.region[list.n++] = (struct hm_damon_found){.start = probe[i].page * hm_page_size(),
                                                        .end = (probe[i].page + 1) * hm_page_size(),
                                                        .accesses = kernel.accesses};
    if (kernel.lists >> t & 1)
        sink(data, &list);
    return i;
}

static void give_steady_list(uint32_t t, hm_damon_gathering_sink *sink, void *data)
{
    static struct hm_damon_gathering list;
    list.target = t;
    list.n = kernel.idle_pages > 0 ? 2 : 1;
    list.region[0] =
        (struct hm_damon_found){.start = hm_page_size(), .end = 2 * hm_page_size(), .accesses = kernel.accesses};
    list.region[1] = (struct hm_damon_found){.start = 2 * hm_page_size(),
                                             .end = 2 * hm_page_size() + kernel.idle_pages * hm_page_size()};
    if (kernel.lists >> t & 1)
        sink(data, &list);
}

void __wrap_hm_damon_tracepoint_read(struct hm_damon_tracepoint *tracepoint, const struct hm_damon_layout *layout,
                                     hm_damon_gathering_sink *sink, void *data)
{
    const struct hm_damon_lease *its = data;
    const struct hm_damon_burst *burst = &its->bursts.pages;
    (void)tracepoint, (void)layout;
    if (!its->is_bursting) {
        for (uint32_t t = 0; t < its->n; t++)
            give_steady_list(t, sink, data);
        return;
    }
    for (unsigned t = 0, i = 0; i < burst->n; t++)
        i = give_bursts_list(burst, t, i, sink, data);
}
