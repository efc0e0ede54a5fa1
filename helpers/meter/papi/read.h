/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading from hybridmem-papi and hybridmem-slurmenergy. PAPI and Slurm's library may end the process that they are in,
 * hang or write what they like: here that is a reason, and no more than that.
 */
#ifndef HM_METER_PAPI_READ_H
#define HM_METER_PAPI_READ_H

#include "line.h"

#define HM_PAPI_ANSWER_MS 3000 /* an answer is awaited for so long */

struct hm_papi_reader;

enum hm_papi_program { HM_PROGRAM_PAPI, HM_PROGRAM_SLURMENERGY, HM_N_PROGRAMS };

/*
 * Start the program, which is at `path`, with nothing of ours but two pipes (Slurm's gets SLURM_CONF, too). Returns the
 * reader, to be stopped, or NULL with a text. What it says of its events is awaited for so long: hm_papi_reader_take.
 */
struct hm_papi_reader *hm_papi_reader_begin(enum hm_papi_program program, const char *path, int patience_ms,
                                            struct hm_error *error);

/* Has it described its events, one at least? Returns 0, or -1 with a text: each component's reason where it has none.
 */
int hm_papi_reader_described(const struct hm_papi_reader *reader, struct hm_error *error);

/* Begin, and wait for what it says of its events. Returns the reader, to be stopped, or NULL with a text. */
struct hm_papi_reader *hm_papi_reader_start(enum hm_papi_program program, const char *path, struct hm_error *error);

/* How many events, at least one; and each. */
unsigned hm_papi_reader_count(const struct hm_papi_reader *reader);
const struct hm_papi_event *hm_papi_reader_event(const struct hm_papi_reader *reader, unsigned i);

/* Have all events read now. The answer is awaited for HM_PAPI_ANSWER_MS: hm_papi_reader_take. */
void hm_papi_reader_ask(struct hm_papi_reader *reader);

/* Is a description or an answer awaited? */
bool hm_papi_reader_is_awaited(const struct hm_papi_reader *reader);

/* The descriptor that is readable once there is something to take, and how long what is awaited has left. */
int hm_papi_reader_poll(const struct hm_papi_reader *reader, int *left_ms);

/* Take what comes of what is awaited within `wait_ms`; 0: what has come. Returns false where it is awaited further.
 * True where it is there, or will not come: then there are no values any more, and a problem. */
bool hm_papi_reader_take(struct hm_papi_reader *reader, int wait_ms);

/* It is awaited no longer than so long from now on. */
void hm_papi_reader_hurry(struct hm_papi_reader *reader, int patience_ms);

/* Wait for it, as long as it is awaited. */
void hm_papi_reader_finish(struct hm_papi_reader *reader);

/* Have all events read now, and wait for it. */
void hm_papi_reader_read(struct hm_papi_reader *reader);

/* The raw value of an event, as it was last read. Returns 0, or an errno: ENODEV where the process is not there any
 * more, EBADMSG where it could not be read. */
int hm_papi_reader_value(const struct hm_papi_reader *reader, unsigned i, uint64_t *value);

/* What became of the process, "hybridmem-papi ended with 127"; "" while all is well. */
const char *hm_papi_reader_problem(const struct hm_papi_reader *reader);

/* End the process and free the reader. NULL is allowed. */
void hm_papi_reader_stop(struct hm_papi_reader *reader);

#endif
