/* SPDX-License-Identifier: Apache-2.0 */
#include "fakebroker.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/process.h"
#include "migrator/watch/resident.h"

struct fake_process process[MOST];
struct hm_maps maps[MOST];
int broker;
time_t now_s;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_socket(int domain, int type, int protocol);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_stat(const char *path, struct stat *status);
double __wrap_hm_process_cpu_s(pid_t pid);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = now_s};
    return 0;
}

/* Makes a connection in which the broker's answer already waits: a kdamond is lent. */
int __wrap_socket(int domain, int type, int protocol)
{
    struct hm_damon_answer answer = {0};
    size_t size = hm_damon_wire_begin(&answer, HM_DAMON_ANSWER, 1, 0);
    int pair[2];
    assert_int_equal(socketpair(domain, type, protocol, pair), 0);
    broker = pair[1];
    assert_int_equal(send(broker, &answer, size, 0), size);
    return pair[0];
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    (void)fd, (void)address, (void)size;
    return 0;
}

int __wrap_stat(const char *path, struct stat *status)
{
    int pid;
    assert_int_equal(sscanf(path, "/proc/%d/maps", &pid), 1);
    assert_in_range(pid, PID, PID + MOST - 1);
    *status = (struct stat){.st_uid = geteuid() + (process[pid - PID].kind == FOREIGN)};
    errno = ENOENT;
    return process[pid - PID].kind == ENDED ? -1 : 0;
}

double __wrap_hm_process_cpu_s(pid_t pid)
{
    return process[pid - PID].cpu_s;
}

uint64_t hm_resident_pages(pid_t pid)
{
    assert_in_range(pid, PID, PID + MOST - 1);
    return process[pid - PID].resident;
}

void take(struct hm_damon_watch *watch, uint32_t n)
{
    struct hm_error error = {""};
    ssize_t size = recv(broker, watch, sizeof(*watch), 0);
    assert_int_equal(size, hm_damon_wire_size(HM_DAMON_WATCH, n));
    assert_int_equal(hm_damon_wire_check_watch(watch, (size_t)size, &error), 0);
}

bool has_sent(void)
{
    struct hm_damon_watch watch;
    return recv(broker, &watch, sizeof(watch), MSG_DONTWAIT) >= 0;
}

const struct hm_ranks *first_of(uint32_t n)
{
    static struct hm_rank rank[MOST];
    static struct hm_range range[MOST];
    static struct hm_ranks ranks = {.rank = rank};
    ranks.n = n;
    for (uint32_t i = 0; i < n; i++) {
        enum kind kind = process[i].kind;
        rank[i] = (struct hm_rank){
            .pid = kind == FREE_SLOT ? 0 : PID + (pid_t)i, .start_time = 7 * i, .is_gone = kind == GONE};
        range[i] = (struct hm_range){(i + 1) * MAPPED, MAPPED};
        maps[i] =
            kind == UNMAPPED ? (struct hm_maps){0} : (struct hm_maps){.range = &range[i], .n = 1, .n_pages = MAPPED};
    }
    return &ranks;
}

struct hm_source *connect_source(struct hm_damon_watch *watch)
{
    const struct hm_source_setup setup = {
        .overhead = 0.01, .n_cpus = 2, .interval_ms = 10000, .broker = "socket", .stop = -1};
    struct hm_error error = {""};
    char why[HM_WARNING];
    struct hm_source *source = hm_source_open("damon", &setup, why, &error);
    assert_non_null(source);
    take(watch, 0);
    return source;
}

void disconnect(struct hm_source *source)
{
    source->close(source);
    close(broker);
}
