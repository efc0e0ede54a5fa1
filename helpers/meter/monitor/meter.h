/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the monitor that reads the node's counters of energy and traffic, and those of the job's resctrl group.
 */
#ifndef HM_METER_MONITOR_METER_H
#define HM_METER_MONITOR_METER_H

#include <poll.h>

#include "meter/sources/flow.h"
#include "power.h"
#include "samples.h"

struct hm_monitor_meter {
    bool is_open, has_group;
    int group;                        /* the group's folder; -1: none, or it could not be opened */
    bool is_asked;                    /* a reading has begun: helper programs were asked, and not all have answered */
    bool is_over;                     /* no helper program joins any more */
    bool is_slurm_asked;              /* Slurm's program is one of those that may be asked */
    uint64_t begun_ns[HM_N_PROGRAMS]; /* CLOCK_MONOTONIC of each program's first reading; 0: none yet */
    struct hm_gauges gauges;
    struct hm_counters_tried tried[HM_METERS];
    int n_tried;
    struct hm_tiers tiers; /* only names and kinds are set */
    struct hm_powers powers;
    struct hm_flow flow[HM_MOST_FLOWS];
};

/* The helper programs that may be asked besides the node's own counters, as absolute paths; NULL: do not ask. */
struct hm_monitor_programs {
    const char *papi, *slurm;
};

/*
 * Find and open the counters below `sysfs` (an open folder, /sys, which must stay open). Opening needs root's rights;
 * reading does not. `group` is the folder of the job's resctrl group, or NULL where there is none. The group was made
 * for the job, so what it counted before the first reading is the job's as well. Figures of a counter that cannot be
 * opened are unknown. Where an earlier monitor of the same job has counted, nobody knows what was counted between the
 * two monitors: then the earlier figures are dropped, and no new ones are added. The programs are started where the
 * node's counters lack something. They join later, once they have told what they count (hm_monitor_meter_hear).
 */
void hm_monitor_meter_open(struct hm_monitor_meter *meter, int sysfs, const char *group,
                           const struct hm_monitor_programs *programs, struct hm_samples *samples);

/* Read the counters at `mono_ns` (CLOCK_MONOTONIC). The figures begin with the first reading. Where programs have
 * to be asked, all counters are read once the programs have answered (hm_monitor_meter_hear). */
void hm_monitor_meter_read(struct hm_monitor_meter *meter, struct hm_samples *samples, uint64_t mono_ns);

/* Get the descriptors of the programs whose answers are awaited, -1 for the other programs. Returns how many ms are
 * left until the time for the first awaited answer is over, or -1 where no answer is awaited. */
int hm_monitor_meter_poll(const struct hm_monitor_meter *meter, struct pollfd events[HM_N_PROGRAMS]);

/*
 * Take what the programs have said by `mono_ns`, and give up programs whose time is over. When a program joins, and
 * nothing had a counter before, all figures begin anew. Otherwise the figures go on, and what the program counts is
 * known only if the program began at most a second, or a hundredth of the whole time, after the others.
 */
void hm_monitor_meter_hear(struct hm_monitor_meter *meter, struct hm_samples *samples, uint64_t mono_ns);

/* Call this after the last hm_monitor_meter_read. It waits a short time for the programs' answers, which
 * hm_monitor_meter_hear then takes. No program joins any more. */
void hm_monitor_meter_finish(struct hm_monitor_meter *meter);

void hm_monitor_meter_close(struct hm_monitor_meter *meter);

#endif
