/* SPDX-License-Identifier: Apache-2.0 */
/* What the job and this process use of the CPUs. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "live.h"

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) == 0 ? (double)now.tv_sec + (double)now.tv_nsec / 1e9 : -1;
}

double hm_live_thread_s(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

/* "usage_usec N" begins the file with every kernel that has it. Returns a negative number where it cannot be read. */
static double cgroup_s(const struct hm_live *live)
{
    static const char key[] = "usage_usec ";
    char text[64];
    int fd = live->has_cgroup ? openat(live->cgroup.dir, "cpu.stat", O_RDONLY | O_CLOEXEC) : -1;
    ssize_t length = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return strncmp(text, key, sizeof(key) - 1) == 0 ? strtod(text + sizeof(key) - 1, NULL) / 1e6 : -1;
}

/* Those that have ended count with what they had used when they were last seen. */
static double processes_s(struct hm_live *live)
{
    double sum = 0;
    for (uint32_t space = 0; space < HM_OPTIONS_PIDS; space++) {
        const struct hm_rank *rank = &live->ranks.rank[space];
        clockid_t clock;
        if (space < live->ranks.n && rank->pid != 0 && !rank->is_gone && clock_getcpuclockid(rank->pid, &clock) == 0) {
            double now_s = seconds_of(clock);
            live->process_s[space] = now_s > live->process_s[space] ? now_s : live->process_s[space];
        }
        sum += live->process_s[space];
    }
    return sum;
}

double hm_live_job_s(struct hm_live *live)
{
    double used_s = cgroup_s(live);
    return used_s >= 0 ? used_s : processes_s(live);
}

void hm_live_look_at_cost(struct hm_live *live)
{
    struct rusage own;
    if (getrusage(RUSAGE_SELF, &own) != 0)
        return;
    live->progress->cpu_s = (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
                            (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6;
    hm_purse_look(&live->purse, hm_live_job_s(live), live->progress->cpu_s - live->read_s);
}
