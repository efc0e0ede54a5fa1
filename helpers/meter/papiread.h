/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading from hybridmem-papi and hybridmem-slurmenergy. PAPI and Slurm's library may end the process that they are in,
 * hang or write what they like: here that is a reason, and no more than that.
 */
#ifndef HM_PAPIREAD_H
#define HM_PAPIREAD_H

#include "papiline.h"

struct hm_papi_reader;

enum hm_papi_program { HM_PROGRAM_PAPI, HM_PROGRAM_SLURMENERGY, HM_N_PROGRAMS };

/*
 * Start the program, which is at `path`, with nothing of ours but two pipes (Slurm's gets SLURM_CONF, too), and take
 * what it says of its events. Returns the reader, to be stopped, or NULL with a text: each component's reason where
 * there is no event.
 */
struct hm_papi_reader *hm_papi_reader_start(enum hm_papi_program program, const char *path, struct hm_error *error);

/* How many events, at least one; and each. */
unsigned hm_papi_reader_count(const struct hm_papi_reader *reader);
const struct hm_papi_event *hm_papi_reader_event(const struct hm_papi_reader *reader, unsigned i);

/* Have all events read now, within a few seconds. Where that fails there are no values any more, and a problem. */
void hm_papi_reader_ask(struct hm_papi_reader *reader);

/* The raw value of an event, as it was last read. Returns 0, or an errno: ENODEV where the process is not there any
 * more, EBADMSG where it could not be read. */
int hm_papi_reader_value(const struct hm_papi_reader *reader, unsigned i, uint64_t *value);

/* What became of the process, "hybridmem-papi ended with 127"; "" while all is well. */
const char *hm_papi_reader_problem(const struct hm_papi_reader *reader);

/* End the process and free the reader. NULL is allowed. */
void hm_papi_reader_stop(struct hm_papi_reader *reader);

#endif
