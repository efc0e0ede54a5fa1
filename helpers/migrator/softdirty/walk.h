/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long it takes to clear the marks of a process. The kernel goes through all its page tables, and holds the lock of
 * its mappings meanwhile: a thread that takes a page fault, or maps memory, waits until the end.
 */
#ifndef HM_MIGRATOR_SOFTDIRTY_WALK_H
#define HM_MIGRATOR_SOFTDIRTY_WALK_H

#include <stdint.h>

struct hm_softdirty_walk { /* the last one of a process; zeros: there was none */
    uint64_t pages;        /* that it had in memory */
    double took_s;         /* of CPU time */
};

/*
 * How long the next walk of a process is likely to take, in s: by its last one, where it has not grown to more than
 * twice its size since; else 43 ns for each page that is not huge, as was measured in a guest. `huge`: the share (0..1)
 * of huge pages in the step's memory. Pure.
 */
double hm_softdirty_walk_s(const struct hm_softdirty_walk *last, uint64_t pages, double huge);
/* The share of transparent huge pages in the anonymous memory of a cgroup; 0: it is not known. */
double hm_softdirty_huge_share(const char *cgroup);
/* The same by the text of its memory.stat. Pure. */
double hm_softdirty_parse_huge(const char *text);

#endif
