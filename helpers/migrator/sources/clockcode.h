/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the code of the step's processes: at which address it accesses memory, by the thread's registers. */
#ifndef HM_MIGRATOR_SOURCES_CLOCKCODE_H
#define HM_MIGRATOR_SOURCES_CLOCKCODE_H

#include <sys/types.h>

#include "base/error.h"
#include "migrator/perf/ring.h"

struct hm_clock_code;

/*
 * `share`: CPU time per second that reading code may use, beside what hybridmem-decode takes to start. Two minutes'
 * worth may be used at once; beyond it, new places in the code have to wait. `stop`: a descriptor, which stays the
 * caller's; once it is readable, hybridmem-decode is not waited for any more, and no more addresses are found; -1:
 * none. Free with hm_clock_code_free. Returns NULL with a text.
 */
struct hm_clock_code *hm_clock_code_new(double share, int stop, struct hm_error *error);
void hm_clock_code_free(struct hm_clock_code *code);

/*
 * Fills in the address of `n` samples, and in data_src whether they load or store. The address stays 0 where the
 * thread's registers do not tell it. The code at a place is read again after a minute at most: where a process executes
 * other code there meanwhile, some addresses are wrong until then. What has been decoded serves all processes with the
 * same code. Where the CPU time is short, code that is seen again comes first.
 */
void hm_clock_code_locate(struct hm_clock_code *code, struct hm_ring_sample *sample, size_t n);

/* CPU seconds that reading code has used so far, outside of this process. */
double hm_clock_code_cpu_s(const struct hm_clock_code *code);
/* The process that reads the code. */
pid_t hm_clock_code_helper(const struct hm_clock_code *code);
/* Why no more addresses are found, or too few for any use; NULL: enough are. */
const char *hm_clock_code_is_over(struct hm_clock_code *code);

#endif
