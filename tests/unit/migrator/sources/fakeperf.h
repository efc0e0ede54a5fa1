/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fakes of perf events, the processor and the clock. fakeperf.c defines functions of base/perfopen.h and
 * migrator/perf/cpu.h. A test program must link with --wrap for clock_gettime.
 */
#ifndef FAKEPERF_H
#define FAKEPERF_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <time.h>

#include "migrator/perf/cpu.h"
#include "migrator/sources/source.h"

struct fake_perf {
    bool is_real;                /* events are opened in the kernel */
    bool refuses_wide;           /* events on a whole CPU are refused, also with is_real; then no cgroup is watched */
    int raw, software;           /* errno of hardware and software events; 0: they work */
    int user_only;               /* errno of hardware events that leave out the kernel; 0: as `raw` */
    bool has_no_pmu;             /* the kernel does not show the processor's PMU, */
    bool has_no_formats;         /* or no bits of its events */
    int opened;                  /* number of events */
    struct perf_event_attr last; /* of the last event */
    struct hm_perf_cpu cpu;
    time_t later_s; /* seconds by which the clock is ahead */
};

extern struct fake_perf fake;
/* Where hybridmem-decode is. The reset names a file that is not there: the source clock does not work. */
extern const char *fake_decode_program;
extern const struct hm_perf_cpu fake_intel, fake_arm;
extern const struct hm_source_setup usual; /* 1 % of two CPUs, phases of 10 s */

/*
 * From now on events are opened in the kernel. False where it does not allow this software event, which is then said:
 * the test is to be skipped. The guest's tests in tests/system use the sources, too.
 */
bool fake_perf_be_real(uint64_t software_event);

/* Set-up of a test: an Intel processor on which everything works. */
int fake_perf_reset(void **state);

#endif
