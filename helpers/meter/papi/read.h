/* SPDX-License-Identifier: Apache-2.0 */
/* Starts hybridmem-papi or hybridmem-slurmenergy, and reads from it. PAPI and Slurm's library may end the process that
 * they are in, hang, or write anything: here each of these is just a reason why there is no figure. */
#ifndef HM_METER_PAPI_READ_H
#define HM_METER_PAPI_READ_H

#include "line.h"
#include "program.h"

#define HM_PAPI_ANSWER_MS 3000 /* time for an answer */

struct hm_papi_reader;

/*
 * Start the program at `path`. It gets none of our descriptors but its input and output, and no environment but the
 * locale (Slurm's program also gets SLURM_CONF). Returns the reader, to be stopped later, or NULL with a text. The
 * program's description of its events is awaited for `patience_ms`: take it with hm_papi_reader_take.
 */
struct hm_papi_reader *hm_papi_reader_begin(enum hm_papi_program program, const char *path, int patience_ms,
                                            struct hm_error *error);

/* Has the program described at least one event? Returns 0, or -1 with a text, which gives the reason of each component
 * where there is no event. */
int hm_papi_reader_described(const struct hm_papi_reader *reader, struct hm_error *error);

/* Start the program, and wait for its description. Returns the reader, to be stopped later, or NULL with a text. */
struct hm_papi_reader *hm_papi_reader_start(enum hm_papi_program program, const char *path, struct hm_error *error);

/* The number of events that the program has described. */
unsigned hm_papi_reader_count(const struct hm_papi_reader *reader);
/* Event `i`, from 0 on. */
const struct hm_papi_event *hm_papi_reader_event(const struct hm_papi_reader *reader, unsigned i);

/* Ask for a reading of all events. The answer is awaited for HM_PAPI_ANSWER_MS: take it with hm_papi_reader_take. A
 * program that may be late (program.h) is not asked again until it has answered; until then there is no reading. */
void hm_papi_reader_ask(struct hm_papi_reader *reader);

/* Is a description or an answer awaited? */
bool hm_papi_reader_is_awaited(const struct hm_papi_reader *reader);

/* The descriptor to poll for an answer, and how many ms are left for it. */
int hm_papi_reader_poll(const struct hm_papi_reader *reader, int *left_ms);

/*
 * Take the awaited description or answer, waiting for it at most `wait_ms` (0: do not wait). Returns false while it may
 * still come. Returns true where it is there, where none is awaited, or where it will not come. In the last case
 * hm_papi_reader_problem says why, and there are no more values, unless the program may be late.
 */
bool hm_papi_reader_take(struct hm_papi_reader *reader, int wait_ms);

/* Shorten the time for the awaited answer to at most `patience_ms` from now. */
void hm_papi_reader_hurry(struct hm_papi_reader *reader, int patience_ms);

/* Wait until the answer is there or its time is over. */
void hm_papi_reader_finish(struct hm_papi_reader *reader);

/* Ask for a reading of all events, and wait for it. */
void hm_papi_reader_read(struct hm_papi_reader *reader);

/* The raw value of an event at the last reading. Returns 0, or an errno. ENODEV: there is no reading, as none was asked
 * for, it is still awaited, or the program gives none any more (hm_papi_reader_problem says why). EBADMSG: the program
 * could not read this event. */
int hm_papi_reader_value(const struct hm_papi_reader *reader, unsigned i, uint64_t *value);

/* What became of the program, "hybridmem-papi ended with 127"; "" while all is well. */
const char *hm_papi_reader_problem(const struct hm_papi_reader *reader);

/* End the process and free the reader. NULL is allowed. */
void hm_papi_reader_stop(struct hm_papi_reader *reader);

#endif
