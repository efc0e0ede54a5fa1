/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why perf_event_open(2) failed (perfopen.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "perfopen.h"

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

char *hm_perf_explain(int number, const char *paranoid, int wanted, char *out, size_t size)
{
    static const struct {
        int number;
        const char *text;
    } rows[] = {
        {ENOENT, "the kernel has no such hardware event here (a virtual machine without a PMU?)"},
        {ENODEV, "the kernel has no such hardware event here (a virtual machine without a PMU?)"},
        {EOPNOTSUPP, "the hardware cannot sample addresses (no PEBS, no filters of SPE, or hidden by the hypervisor)"},
        {ENOSYS, "the kernel was built without perf events"},
        {EBUSY, "somebody else has the counter"},
        {EMFILE, "too many open files"},
        {ENOMEM, "the user may lock no more memory (ulimit -l, kernel.perf_event_mlock_kb)"},
        {EINVAL, "the kernel does not know the event in this form"},
    };
    if (number == EACCES || number == EPERM) {
        /* Levels above 2 exist on Debian and Ubuntu only; there CAP_PERFMON is not enough. */
        if (*paranoid)
            snprintf(out, size, "the kernel refuses: kernel.perf_event_paranoid is %s, wanted is %d or less, or %s",
                     paranoid, wanted, atoi(paranoid) > 2 ? "CAP_SYS_ADMIN" : "CAP_PERFMON");
        else
            snprintf(out, size, "the kernel refuses (a container's system call filter?)");
        return out;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].number == number) {
            snprintf(out, size, "%s", rows[i].text);
            return out;
        }
    }
    snprintf(out, size, "perf_event_open: %s", strerror(number));
    return out;
}

char *hm_perf_read_paranoid(char *out, size_t size)
{
    (void)hm_file_read_line(PARANOID, out, size);
    return out;
}
