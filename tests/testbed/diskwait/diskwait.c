/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps a CPU of a guest busy while one of its disks is at work. In counted time (hostside/qemu.py) the guest's clock
 * jumps to the next timer when all CPUs wait, and QEMU reads a disk in a thread of the host. So without this program
 * each timeout in the guest can run out while the host, which may be busy, reads a few blocks.
 * It runs only where no other program wants to run (SCHED_IDLE). It sleeps until the kernel hands a request to a disk
 * (tracepoint block_rq_issue), and then looks until no request is left.
 */
#define _GNU_SOURCE /* SCHED_IDLE */
#include <err.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACING "/run/testbed/tracing"
#define CPUS 64
#define DISKS 8
#define PAUSES 100 /* between two looks at the disks; each gives QEMU's other CPUs a turn */

static struct pollfd issued[CPUS]; /* an event of each CPU */
static int n_cpus;
static int in_flight[DISKS]; /* descriptors of files with how many reads and writes a disk works on */
static int n_disks;

/* The number of the tracepoint, which tracefs tells. */
static unsigned long long tracepoint(void)
{
    char text[32] = "";
    if (mkdir(TRACING, 0700) != 0 || mount("tracefs", TRACING, "tracefs", 0, NULL) != 0)
        err(1, "cannot mount tracefs on " TRACING);
    int file = open(TRACING "/events/block/block_rq_issue/id", O_RDONLY);
    if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
        err(1, "no number of block_rq_issue");
    close(file);
    if (umount(TRACING) != 0 || rmdir(TRACING) != 0)
        err(1, "cannot unmount " TRACING);
    return strtoull(text, NULL, 10);
}

static void open_events(void)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT,
                                   .size = sizeof(attr),
                                   .config = tracepoint(),
                                   .sample_period = 1,
                                   .wakeup_events = 1};
    n_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (n_cpus > CPUS)
        errx(1, "%d CPUs: more than %d", n_cpus, CPUS);
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        int event = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        /* Only an event with a ring wakes whoever polls it. The ring is read-only: the kernel writes over its oldest
         * samples, which nobody reads. */
        if (event < 0 || mmap(NULL, 2 * (size_t)getpagesize(), PROT_READ, MAP_SHARED, event, 0) == MAP_FAILED)
            err(1, "no event on CPU %d", cpu);
        issued[cpu] = (struct pollfd){.fd = event, .events = POLLIN};
    }
}

static bool are_well(void)
{
    for (int cpu = 0; cpu < n_cpus; cpu++)
        if (issued[cpu].revents & ~POLLIN)
            return false;
    return true;
}

static void open_disks(void)
{
    glob_t found;
    if (glob("/sys/block/vd*/inflight", 0, NULL, &found) != 0)
        errx(1, "no disks");
    for (size_t i = 0; i < found.gl_pathc && n_disks < DISKS; i++) {
        in_flight[n_disks] = open(found.gl_pathv[i], O_RDONLY | O_CLOEXEC);
        if (in_flight[n_disks++] < 0)
            err(1, "%s", found.gl_pathv[i]);
    }
    globfree(&found);
}

static bool is_at_work(int disk)
{
    char text[64] = "";
    unsigned reads = 0, writes = 0;
    if (pread(disk, text, sizeof(text) - 1, 0) <= 0 || sscanf(text, "%u %u", &reads, &writes) != 2)
        err(1, "a disk does not tell its requests");
    return reads + writes > 0;
}

static bool any_is_at_work(void)
{
    for (int i = 0; i < n_disks; i++)
        if (is_at_work(in_flight[i]))
            return true;
    return false;
}

int main(void)
{
    /* First, as a child has no ring of its parent's. */
    if (daemon(0, 1) != 0)
        err(1, "cannot go into the background");
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}) != 0)
        err(1, "no SCHED_IDLE");
    open_disks();
    open_events();
    while (poll(issued, (nfds_t)n_cpus, -1) > 0 && are_well())
        while (any_is_at_work())
            for (int i = 0; i < PAUSES; i++)
                __builtin_ia32_pause();
    errx(1, "the events of requests have ended");
}
