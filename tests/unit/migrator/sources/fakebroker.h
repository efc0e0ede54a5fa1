/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of the source damon: its broker, and the processes of a step, all of them fake. A test program must link
 * with
 * --wrap for socket, connect, stat, clock_gettime and hm_process_cpu_s.
 */
#ifndef FAKEBROKER_H
#define FAKEBROKER_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "migrator/damon/wire.h"
#include "migrator/sources/source.h"

#define MOST (HM_DAMON_TARGETS + 10)
#define PID 1000      /* of the first process; the others follow */
#define MAPPED 100000 /* pages of each process, in one mapping */

enum kind { USUAL, FREE_SLOT, GONE, UNMAPPED, FOREIGN, ENDED };

struct fake_process {
    uint64_t resident; /* pages */
    double cpu_s;
    enum kind kind;
};

extern struct fake_process process[MOST];
extern struct hm_maps maps[MOST]; /* of those of the last first_of() */
extern int broker;                /* the broker's end of the connection */
extern time_t now_s;

/* Returns the first n processes, and fills their maps. */
const struct hm_ranks *first_of(uint32_t n);

/* Opens the source: its broker lends it a kdamond, and gets a list without processes, which is left in `watch`. */
struct hm_source *connect_source(struct hm_damon_watch *watch);

/* Closes the source, and its broker's end. */
void disconnect(struct hm_source *source);

/* Takes a list from the source, which must name n processes. */
void take(struct hm_damon_watch *watch, uint32_t n);

/* Is there a list from the source, which take has not taken? It is lost. */
bool has_sent(void);

#endif
