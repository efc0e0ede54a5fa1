/* SPDX-License-Identifier: Apache-2.0 */
/* The monitor's part that reads the node's counters of energy and traffic, and those of the job's resctrl group. */
#ifndef HM_METER_MONITOR_METER_H
#define HM_METER_MONITOR_METER_H

#include <poll.h>

#include "meter/sources/flow.h"
#include "power.h"
#include "samples.h"

struct hm_monitor_meter {
    bool is_open, has_group;
    int group;     /* its folder, -1: it could not be opened */
    bool is_asked; /* its programs were, for a reading */
    bool is_over, is_slurm_asked;
    uint64_t begun_ns[HM_N_PROGRAMS]; /* CLOCK_MONOTONIC of a program's first reading; 0: it has not joined in */
    struct hm_gauges gauges;
    struct hm_counters_tried tried[HM_METERS];
    int n_tried;
    struct hm_tiers tiers; /* names and kinds alone */
    struct hm_powers powers;
    struct hm_flow flow[HM_MOST_FLOWS];
};

/* The programs that may be asked beside the node's own counters, absolute; NULL: not this one. */
struct hm_monitor_programs {
    const char *papi, *slurm;
};

/*
 * Find the counters below `sysfs` (an open folder, /sys; it has to stay open) and open them: with root's rights, which
 * reading them does not need any more. `group` is the folder of the job's resctrl group, likewise; it was
 * made for the job, and what it counted before the first reading is the job's as well. NULL: it has none.
 * One that cannot be opened leaves figures that are not known. Where an earlier monitor of the same job has counted
 * there is a gap that nobody has seen: its figures are forgotten, and none are added. The programs are started where
 * these counters lack something, and join in once they have told what they count: hm_monitor_meter_hear.
 */
void hm_monitor_meter_open(struct hm_monitor_meter *meter, int sysfs, const char *group,
                           const struct hm_monitor_programs *programs, struct hm_samples *samples);

/* Read them, at `mono_ns` (CLOCK_MONOTONIC); the first reading is the beginning. Where programs are to be asked all are
 * read once these have answered: hm_monitor_meter_hear. */
void hm_monitor_meter_read(struct hm_monitor_meter *meter, struct hm_samples *samples, uint64_t mono_ns);

/* What to wait for of the programs: the descriptors in `events`, -1 for none. Returns how many ms they have left, or -1
 * where nothing is awaited. */
int hm_monitor_meter_poll(const struct hm_monitor_meter *meter, struct pollfd events[HM_N_PROGRAMS]);

/* Take what programs have said by `mono_ns`, and give up those whose time is over. The first that has counters that
 * were missed begins the figures anew where the node has none of its own. Else these go on, and what it counts is known
 * where it begins a moment after them (a second, or a hundredth of their time). */
void hm_monitor_meter_hear(struct hm_monitor_meter *meter, struct hm_samples *samples, uint64_t mono_ns);

/* After the last call of hm_monitor_meter_read: wait for the programs' answers, which get little time, so that
 * hm_monitor_meter_hear has them. None joins in any more. */
void hm_monitor_meter_finish(struct hm_monitor_meter *meter);

void hm_monitor_meter_close(struct hm_monitor_meter *meter);

#endif
