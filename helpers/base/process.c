/* SPDX-License-Identifier: Apache-2.0 */
#include "process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "files.h"
#include "size.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
/* Numbers of fields in /proc/PID/stat, as proc(5) counts them. */
#define STAT_NAME 2
#define STAT_STATE 3
#define STAT_FLAGS 9
#define STAT_START_TIME 22
#define EXITING 4 /* PF_EXITING in STAT_FLAGS: it was killed or has called exit(2), and its resources are released */

const char *hm_process_next(DIR *proc)
{
    const struct dirent *item;
    uint64_t pid;
    while ((item = readdir(proc)))
        if (hm_size_parse_number(item->d_name, 1, HM_MOST_PID, &pid, NULL) == 0)
            return item->d_name;
    return NULL;
}

int hm_process_read(pid_t pid, const char *name, char *out, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return hm_file_read_start(path, out, size);
}

double hm_process_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec now;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &now) != 0)
        return -1;
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Where a field of a /proc/PID/stat begins, or NULL. */
static const char *find_field(const char *text, int number)
{
    /* The process name may contain spaces and brackets: count fields from the last ")". */
    const char *at = strrchr(text, ')');
    for (int field = STAT_NAME; at && field < number; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at;
}

int hm_process_parse_stat(const char *text, char *state, uint64_t *start_time)
{
    char number[24];
    const char *at = find_field(text, STAT_STATE);
    if (at)
        *state = *at;
    at = find_field(text, STAT_START_TIME);
    size_t length = at ? strcspn(at, " \n") : 0;
    if (length == 0 || length >= sizeof(number))
        return hm_fail(NULL, EBADMSG, "no start time");
    memcpy(number, at, length);
    number[length] = '\0';
    return hm_size_parse_number(number, 0, UINT64_MAX, start_time, NULL) == 0 ? 0
                                                                              : hm_fail(NULL, EBADMSG, "no start time");
}

static int read_stat(pid_t pid, char *state, uint64_t *start_time)
{
    char text[1024];
    if (pid <= 0 || hm_process_read(pid, "stat", text, sizeof(text)) != 0 ||
        hm_process_parse_stat(text, state, start_time) != 0)
        return hm_fail(NULL, ESRCH, "no process %d", (int)pid);
    return 0;
}

int hm_process_parse_uids(const char *text, uid_t uid[4])
{
    /* The name is the only text before this line that a process can choose, and the kernel escapes a newline in it. */
    const char *line = strstr(text, "\nUid:");
    if (line && sscanf(line, " Uid: %u %u %u %u", &uid[0], &uid[1], &uid[2], &uid[3]) == 4)
        return 0;
    errno = EBADMSG;
    return -1;
}

int hm_process_identify(pid_t pid, struct hm_process *process)
{
    char state;
    if (read_stat(pid, &state, &process->start_time) != 0)
        return -1;
    process->pid = pid;
    return 0;
}

bool hm_process_is_running(const struct hm_process *process)
{
    char state;
    uint64_t start_time;
    return process->pid > 0 && read_stat(process->pid, &state, &start_time) == 0 && state != 'Z' && state != 'X' &&
           start_time == process->start_time;
}

/* Has the number at `at`, which is followed by `behind`, one of these bits? A number that is cut has none. */
static bool has_bits(const char *at, int base, char behind, uint64_t bits)
{
    char *end;
    uint64_t number = strtoull(at, &end, base);
    return end > at && *end == behind && (number & bits);
}

/* Is SIGKILL pending, by this line of a /proc/PID/status? */
static bool has_kill(const char *status, const char *line)
{
    const char *at = strstr(status, line);
    return at && has_bits(at + strlen(line), 16, '\n', UINT64_C(1) << (SIGKILL - 1));
}

bool hm_process_parse_ending(const char *stat, const char *status)
{
    const char *flags = find_field(stat, STAT_FLAGS);
    /* A signal that kills a process without a core leaves SIGKILL to each of its threads, until the thread takes it and
     * ends. */
    return (flags && has_bits(flags, 10, ' ', EXITING)) || has_kill(status, "\nSigPnd:") ||
           has_kill(status, "\nShdPnd:");
}

bool hm_process_is_ending(const struct hm_process *process)
{
    char stat[1024], status[4096];
    return hm_process_is_running(process) && hm_process_read(process->pid, "stat", stat, sizeof(stat)) == 0 &&
           hm_process_read(process->pid, "status", status, sizeof(status)) == 0 &&
           hm_process_parse_ending(stat, status);
}

static int count_living(const struct pollfd *end, int n)
{
    int living = 0;
    for (int i = 0; i < n; i++)
        living += end[i].fd >= 0;
    return living;
}

/* Wait at most `patience_ms` until all processes have ended. Closes the descriptor of each process that has ended, and
 * sets it to -1. Returns how many have not ended. */
static int wait_for_ends(struct pollfd *end, int n, int patience_ms)
{
    int64_t deadline = hm_clock_ms(CLOCK_MONOTONIC) + patience_ms;
    for (;;) {
        if (count_living(end, n) == 0) /* with no descriptor left poll() would wait in vain */
            return 0;
        int64_t left = deadline - hm_clock_ms(CLOCK_MONOTONIC);
        int ready = poll(end, (nfds_t)n, left > 0 ? (int)left : 0);
        bool is_broken = ready < 0 && errno != EINTR;
        for (int i = 0; i < n; i++) {
            if (end[i].fd >= 0 && ready > 0 && end[i].revents) {
                close(end[i].fd);
                end[i].fd = -1;
            }
        }
        if (left <= 0 || is_broken)
            return count_living(end, n);
    }
}

bool hm_process_ends_within(int pidfd, int patience_ms)
{
    struct pollfd end = {.fd = pidfd, .events = POLLIN};
    return wait_for_ends(&end, 1, patience_ms) == 0;
}

static void signal_all(const struct pollfd *end, int n, int number)
{
    for (int i = 0; i < n; i++)
        if (end[i].fd >= 0)
            syscall(SYS_pidfd_send_signal, end[i].fd, number, NULL, 0);
}

/* `pidfd` gets a pidfd of the process, or -1 where it has ended. Returns 0, or -1 where it cannot be watched. */
static int open_living(const struct hm_process *process, int *pidfd, struct hm_error *error)
{
    *pidfd = process->pid > 0 ? (int)syscall(SYS_pidfd_open, process->pid, 0) : -1;
    if (*pidfd < 0)
        return process->pid <= 0 || errno == ESRCH ? 0
                                                   : hm_fail_errno(error, "cannot watch process %d", (int)process->pid);
    /* This check has to come after the descriptor is open. A process that runs now had its pid then, too, so the
     * descriptor is of this process, not of a later one with the same pid. */
    if (!hm_process_is_running(process)) {
        close(*pidfd);
        *pidfd = -1;
    }
    return 0;
}

bool hm_process_wait(const struct hm_process *process, int patience_ms)
{
    int pidfd;
    if (open_living(process, &pidfd, NULL) != 0)
        return false;
    if (pidfd < 0 || hm_process_ends_within(pidfd, patience_ms))
        return true;
    close(pidfd);
    return false;
}

int hm_process_stop_all(const struct hm_process *process, int n, int patience_ms, struct hm_error *error)
{
    struct pollfd end[HM_STOP_MOST];
    int result = 0;
    if (n > HM_STOP_MOST)
        return hm_fail(error, E2BIG, "%d processes at once: %d at most", n, HM_STOP_MOST);
    for (int i = 0; i < n; i++) {
        end[i] = (struct pollfd){.events = POLLIN};
        if (open_living(&process[i], &end[i].fd, error) != 0)
            result = -1;
    }
    signal_all(end, n, SIGTERM);
    if (wait_for_ends(end, n, patience_ms) == 0)
        return result;
    signal_all(end, n, SIGKILL);
    if (wait_for_ends(end, n, patience_ms) == 0)
        return result;
    for (int i = 0; i < n; i++) {
        if (end[i].fd < 0)
            continue;
        close(end[i].fd);
        result = hm_fail(error, ETIMEDOUT, "process %d does not end after SIGKILL", (int)process[i].pid);
    }
    return result;
}

int hm_process_stop(const struct hm_process *process, int patience_ms, struct hm_error *error)
{
    return hm_process_stop_all(process, 1, patience_ms, error);
}

int hm_cgroup_of_self(char *out, size_t size)
{
    return hm_cgroup_of(getpid(), out, size);
}

int hm_cgroup_of(pid_t pid, char *out, size_t size)
{
    char file[64], text[4096], *save = NULL;
    snprintf(file, sizeof(file), "/proc/%d/cgroup", (int)pid);
    if (hm_file_read(file, text, sizeof(text), NULL) != 0)
        return hm_fail(NULL, ENOENT, "no cgroup");
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        const char *path = strcmp(line + 3, "/") == 0 ? "" : line + 3;
        int length = snprintf(out, size, "%s%s", CGROUP_ROOT, path);
        return length >= 0 && (size_t)length < size ? 0 : hm_fail(NULL, ENAMETOOLONG, "cgroup path too long");
    }
    return hm_fail(NULL, ENOENT, "no cgroup v2");
}
