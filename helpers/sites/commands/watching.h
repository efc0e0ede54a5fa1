/* SPDX-License-Identifier: Apache-2.0 */
/* The recording of a program, from before it starts until its profile: what `hybridmem sites run` and `record` share.
 */
#ifndef HM_SITES_COMMANDS_WATCHING_H
#define HM_SITES_COMMANDS_WATCHING_H

#include <limits.h>
#include <time.h>

#include "fit.h"
#include "series.h"
#include "sites/online/online.h"
#include "sites/record/sampler.h"

#define HM_WATCHING_LOOK_MS 20 /* between two looks at small allocations, new processes and new threads */
#define HM_WATCHING_OVERHEAD 0.02
/* About a page: accesses are seen by pages, so smaller allocations could not be told apart. */
#define HM_WATCHING_LEAST 4096

struct hm_watching {
    char path[PATH_MAX];     /* of the program; set by the caller */
    struct hm_sites_fit fit; /* set by the caller */
    struct hm_watch watch;
    struct hm_watch_resident resident;
    struct hm_series *series;
    struct hm_sampler sampler;
    double read_s;            /* CPU time that its samples took to read */
    struct hm_online *online; /* NULL: the program is not guided */
    time_t start;
};

/* Makes the folder of the recording. hm_watching_close has to follow. Returns 0, or -1 with a text. */
int hm_watching_open(struct hm_watching *watching, uint64_t least_bytes, struct hm_error *error);
/*
 * The program starts now. `period`: accesses per sample, 0: the source chooses. `setup`: the program is guided while it
 * runs, and half of the overhead is for its samples; it stays the caller's. NULL: it is not guided. `broker`: see
 * hm_sampler_open. Returns 0, or -1 with a text: it is recorded, but not guided.
 */
int hm_watching_begin(struct hm_watching *watching, const char *source, double overhead, uint64_t period,
                      const char *broker, const struct hm_online_setup *setup, struct hm_error *error);
/* How long to wait between two looks. */
int hm_watching_look_ms(const struct hm_watching *watching);
/* Looks at the program; to be called each hm_watching_look_ms, or when hm_sampler_fd is readable. */
void hm_watching_look(struct hm_watching *watching);
/* The program has ended. */
void hm_watching_end(struct hm_watching *watching);
/* The profile of a program that was started by these words, for hm_profile_free. `exit_code`: as a shell has it, or -1.
 * NULL: no memory. */
struct hm_profile *hm_watching_profile(const struct hm_watching *watching, char *const *words, int exit_code);
void hm_watching_close(struct hm_watching *watching);

/* Reads the argument of --overhead: a share of the CPUs' time, 0..1. Returns 0, or -1 with a text. */
int hm_watching_take_overhead(const char *text, double *overhead, struct hm_error *error);
/* Reads the argument of --rate, "1/N". Returns 0, or -1 with a text. */
int hm_watching_take_rate(const char *text, uint64_t *period, struct hm_error *error);
/* Reads the argument of --broker, which stays the caller's. Returns 0, or -1 with a text. */
int hm_watching_take_broker(const char *text, const char **broker, struct hm_error *error);

#endif
