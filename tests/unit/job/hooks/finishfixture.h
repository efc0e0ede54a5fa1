/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of a job's end: job 7, which has a monitor and the migrators of the steps 0 and 1. hm_record_write and what
 * removes namespaces, drains nodes and stops programs are defined in finishfixture.c. A test program must link with
 * --wrap for hm_flock_wait, hm_process_stop_all and hm_progress_read.
 */
#ifndef FINISHFIXTURE_H
#define FINISHFIXTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "job/ledger/ledger.h"
#include "job/store/store.h"

#define EPILOGS_STATUS 0x0300

/* State of a test. finish_set_up resets all of it but `error`, `waited`, `ended_ns` and `way`. */
extern struct hm_error error;
extern struct hm_config config;
extern struct hm_job job;
extern bool is_used_again; /* another run takes the job's number while helpers are being stopped */
/* Step 9 begins, or the job's own epilog comes with EPILOGS_STATUS while another process ends the job: 1 while helpers
 * are being stopped, 2 while the record is written; 0: never. */
extern int begins_step, epilog_comes;
extern const char *name_by_slurm;           /* the job's name, by slurmctld; NULL: it does not answer */
extern bool is_likely_asked;                /* slurmctld was asked first for the name that a step claims */
extern int n_asked;                         /* how often slurmctld was asked for the job's name */
extern int n_read, n_stopped;               /* figures that were read, and programs that were stopped */
extern int patience_ms;                     /* the time that helpers were given */
extern int left_by;                         /* errno if the job's namespaces cannot be removed; 0: they are removed */
extern bool waited;                         /* the removal was told to wait for what is in use */
extern char drained[HM_ERROR_TEXT];         /* "NODE: REASON" of the last drain; "": none */
extern struct hm_job recorded;              /* the job as it came to hm_record_write; job_id 0: no record was written */
extern int64_t ended_ns;                    /* end of the job in the record */
extern enum hm_store_way way;               /* how the record was to be stored */
extern int n_locks;                         /* how often the lock was asked for */
extern int locked_by_others;                /* this time it is not to be had; 0: it always is */
extern char why_no_samples[HM_ERROR_TEXT];  /* as hm_record_write got it */
extern bool had_samples;                    /* hm_record_write got samples of the monitor */
extern bool name_is_taken;                  /* another monitor takes the samples' name while memory is wiped */
extern bool is_record_lost;                 /* the record cannot be written */
extern const struct hm_change *late_change; /* a step changes this while helpers are being stopped; NULL: none */
/* if not NULL (shared memory), hm_record_write leaves the record's end here, and the process ends as if killed */
extern int64_t *killed_with_ns;

/* Set-up for cmocka: a ledger with the entry of job 7, and its migrators' figures. */
int finish_set_up(void **state);

/* Has the record this warning? */
bool has_warning(const char *text);

#endif
