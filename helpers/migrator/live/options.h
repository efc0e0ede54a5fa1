/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of hybridmem-migrator. */
#ifndef HM_MIGRATOR_LIVE_OPTIONS_H
#define HM_MIGRATOR_LIVE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/set.h"
#include "core/topology/topology.h"

#define HM_OPTIONS_PIDS 256
#define HM_OPTIONS_NO_ID UINT32_MAX
#define HM_OPTIONS_MOST_LATENCY 1000
#define HM_OPTIONS_MIDDLE (HM_MAX_TIERS - 2)

/* A tier between the fast and the slow one. */
struct hm_middle_tier {
    const char *text; /* as it was given */
    struct hm_set nodes;
    double lat_read, lat_write; /* relative to the fast tier's; 0: not given */
};

struct hm_options {
    const char *cgroup, *guard; /* "": not given */
    pid_t pid[HM_OPTIONS_PIDS];
    uint32_t n_pids;
    int progress_fd;   /* -1: not given */
    uint32_t uid, gid; /* whom to become; HM_OPTIONS_NO_ID: nobody else */
    uint32_t job_id, step_id;
    bool has_job; /* --job and --step were given: `hybridmem top` is answered (viewserver.h) */
    struct hm_set fast, slow;
    struct hm_middle_tier middle[HM_OPTIONS_MIDDLE]; /* fastest first */
    unsigned n_middle;
    struct hm_set shared;   /* the whole fast tier; empty: not given */
    uint64_t cap_bytes;     /* UINT64_MAX: not given in bytes */
    double cap_percent;     /* negative: not given in percent */
    uint64_t reserve_bytes; /* UINT64_MAX: not given */
    const char *algorithm;
    unsigned max_extents; /* 0: not given; see hm_live_max_extents() (live.h) */
    bool hot_by_writes;   /* only writes make pages hot */
    const char *source;
    uint64_t period; /* 0: the source chooses */
    uint64_t interval_ms, phase_samples;
    double overhead;             /* share of the job's CPU time, 0..1 */
    uint64_t rate;               /* bytes per second; 0: no limit */
    int64_t end_s;               /* 0: not known */
    const char *broker, *shares; /* paths; "": not given */
    const char *traffic, *load;  /* paths; "": not given */
    const char *peaks;           /* a text as in `load`; "": not given */
    double lat_read, lat_write;  /* latencies of the slow tier; the fast tier's are 1 */
    uint64_t seed;
    bool json, help;
};

/* Parses argv; texts still belong to it. Returns 0, or -1 (EINVAL, ERANGE) with a text that names the option. */
int hm_options_parse(struct hm_options *options, int argc, char **argv, struct hm_error *error);
void hm_options_help(void);

#endif
