/* SPDX-License-Identifier: Apache-2.0 */
#include "fakeperf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/installed.h"
#include "base/perfopen.h"
#include "migrator/sources/perfwatch.h"

struct fake_perf fake;
const char *fake_decode_program;
const struct hm_perf_cpu fake_intel = {"GenuineIntel", 6, 0x8f, false}, fake_arm = {"Arm", 0, 0, false};
const struct hm_source_setup usual = {.overhead = 0.01, .n_cpus = 2, .interval_ms = 10000, .stop = -1};

int __real_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

const char *hm_decode_program(void)
{
    return fake_decode_program;
}

/* For the linker, which else would take installed.c for it, with another hm_decode_program. */
const char *hm_preload_library(void)
{
    return "";
}

int hm_perf_open(const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags)
{
    bool is_software = attr->type == PERF_TYPE_SOFTWARE;
    fake.last = *attr;
    errno = fake.refuses_wide && pid == -1                           ? EACCES
            : fake.is_real                                           ? 0
            : attr->exclude_kernel && !is_software && fake.user_only ? fake.user_only
            : is_software                                            ? fake.software
                                                                     : fake.raw;
    if (errno)
        return -1;
    fake.opened++;
    return fake.is_real ? (int)syscall(SYS_perf_event_open, attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC)
                        : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); /* one that can be polled */
}

int hm_perf_read_cpu(struct hm_perf_cpu *cpu)
{
    *cpu = fake.cpu;
    return 0;
}

int hm_perf_find_type(const char *pmu)
{
    (void)pmu;
    return fake.has_no_pmu ? -1 : 11;
}

/* The bits of SPE's events, as its driver shows them. */
int hm_perf_read_attribute(const char *pmu, const char *name, char *out, size_t size)
{
    static const char *const formats[][2] = {
        {"format/load_filter", "config:33"}, {"format/store_filter", "config:34"}, {"format/jitter", "config:16"}};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]) && strcmp(pmu, "arm_spe_0") == 0; i++)
        if (strcmp(name, formats[i][0]) == 0 && !fake.has_no_formats)
            return snprintf(out, size, "%s", formats[i][1]) < (int)size ? 0 : -1;
    return -1;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    int status = __real_clock_gettime(clock, time);
    if (clock == CLOCK_MONOTONIC)
        time->tv_sec += fake.later_s;
    return status;
}

bool fake_perf_be_real(uint64_t software_event)
{
    struct perf_event_attr attr;
    fake.is_real = true;
    hm_perf_attr(&attr, PERF_TYPE_SOFTWARE, software_event);
    int fd = hm_perf_open(&attr, 0, -1, 0);
    if (fd < 0)
        print_message("perf_event_open is not allowed here (%s): not tested\n", strerror(errno));
    else
        close(fd);
    return fd >= 0;
}

int fake_perf_reset(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    fake_decode_program = "/nonexistent/hybridmem-decode";
    fake.cpu = fake_intel;
    return 0;
}
