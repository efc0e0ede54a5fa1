/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which pages are written, for sources that cannot tell writes from reads (DAMON, faults). The kernel marks a
 * page soft-dirty at its first write after the marks were cleared (write 4 to /proc/PID/clear_refs), and shows the mark
 * in bit 55 of /proc/PID/pagemap; the processes' user may do both. A window is the time from clearing a process's marks
 * to reading them. Clearing write-protects all pages of the process: each page that is then written costs it a fault.
 * So windows are only as frequent as the budget allows. While marks are cleared, threads of the process that take a
 * fault wait (walk.h): that time counts as a cost, too. How to use it:
 *
 *       at the start of a window, near the end of the phase       hm_softdirty_begin(softdirty, ranks)
 *       at the end of the phase, for the decider's extents        hm_softdirty_add(softdirty, page, n_pages) ...
 *                                                                 hm_softdirty_end(softdirty, ranks)
 *       from then on, with all that is read from a source         hm_softdirty_split(softdirty, observations, count)
 *       when a process is gone, before another gets its space     hm_softdirty_forget(softdirty, space)
 *
 * It is not needed for a source with knows_writes. What a window found out about a process is used until its next
 * window. A process has only one set of soft-dirty marks: so a window disturbs a checkpointing tool that uses them too
 * (CRIU).
 */
#ifndef HM_MIGRATOR_SOFTDIRTY_SOFTDIRTY_H
#define HM_MIGRATOR_SOFTDIRTY_SOFTDIRTY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "migrator/decide/decide.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"

#define HM_SOFTDIRTY_RANGES 8192 /* ranges that are kept, of all processes */
#define HM_SOFTDIRTY_MOST_S 0.1  /* a process whose marks would take longer to clear gets no window (walk.h) */
#define HM_SOFTDIRTY_PAGES 64    /* after this many present pages of a range, no more pages are looked at */

struct hm_softdirty;

struct hm_softdirty_state {
    uint64_t windows;     /* number of windows, counted for each process */
    uint64_t dirty_pages; /* estimate: pages written in windows, each with a fault */
    double fault_us;      /* cost of a fault, measured at the start on a few pages of our own */
    uint32_t n_long; /* processes without a window now, as to clear their marks would stop them too long (walk.h) */
};

/*
 * `by_place`: only the places of writes matter, not how much a process writes. Then shares of ranges stay as they were
 * seen, memory in no range has no known share, and observations must be cut at hm_softdirty_border(). Otherwise the
 * shares of a process are moved towards their mean, as far as chance explains that they differ, and all windows of a
 * process together tell how much it writes (level.h).
 *
 * `overhead`: CPU time that all this may cost, the job's faults included, as a share of `n_cpus`. A process gets its
 * next window when its last one is paid for. Returns NULL with a text if the kernel has no soft-dirty marks (ENOTSUP;
 * needs CONFIG_MEM_SOFT_DIRTY; x86, s390 and some others have it), if this process cannot clear its own, or on ENOMEM.
 * Free with hm_softdirty_free.
 */
struct hm_softdirty *hm_softdirty_new(double overhead, unsigned n_cpus, bool by_place, struct hm_error *error);
void hm_softdirty_free(struct hm_softdirty *softdirty);

/* Usual length of a window in ms: about the time between two looks of DAMON, so that both see the same. */
unsigned hm_softdirty_window_ms(void);
/*
 * Begins windows: clears the marks of at most 64 processes whose last window is paid for, and goes on where the call
 * before stopped. A process whose marks cannot be cleared, or not in a tenth of a second, is skipped. Returns how many
 * windows began.
 */
int hm_softdirty_begin(struct hm_softdirty *softdirty, const struct hm_ranks *ranks);
/* Does the process have an open window? Pure. */
bool hm_softdirty_has_window(const struct hm_softdirty *softdirty, uint32_t space);
/*
 * Names a range whose share is wanted; pages must ascend. Returns false if it is ignored: it has no pages, its process
 * has no window, or there is no room.
 */
bool hm_softdirty_add(struct hm_softdirty *softdirty, uint64_t page, uint64_t n_pages);
/*
 * Names all memory of a process, in at most `most` (at least 1) ranges of about the same size; spaces must ascend.
 * `begun` and `now` are its mappings at the start and the end of the window, both read with is_apart. Memory that is
 * new or has grown is left out, as the kernel marks all of it. Small mappings share a range with their neighbours,
 * holes included, but no range reaches over memory that is left out. If that makes more than `most` ranges, the last
 * ones are left out, too. Returns the number of ranges. Pure.
 */
size_t hm_softdirty_add_all(struct hm_softdirty *softdirty, uint32_t space, const struct hm_maps *begun,
                            const struct hm_maps *now, size_t most);
/* Looks at about HM_SOFTDIRTY_PAGES present pages of each named range, spread over it. Ends the windows. */
void hm_softdirty_end(struct hm_softdirty *softdirty, const struct hm_ranks *ranks);

/*
 * Divides the reads of observations without knows_writes into reads and writes, by the share of written pages in the
 * range around the observation's middle: writes = share * reads, reads = (1 - share) * reads, knows_writes = true. A
 * page that was written once in the window and read often counts as written. Without a range whose share is known, the
 * share that its whole process is believed to write is used (level.h), so that memory does not become more valuable by
 * having been looked at. Such an observation is not changed in two cases: with `by_place`; and as long as no window
 * has told anything. Pure.
 */
void hm_softdirty_split(const struct hm_softdirty *softdirty, struct hm_observation *observations, size_t count);
/* The share of written pages (0..1) in the range of this page; -1 if it is not known. Pure. */
double hm_softdirty_share(const struct hm_softdirty *softdirty, uint64_t page);
/*
 * The first page after `page` at which a range begins or ends; UINT64_MAX if there is none, and always without
 * `by_place`. Pure.
 */
uint64_t hm_softdirty_border(const struct hm_softdirty *softdirty, uint64_t page);
/* Forgets what windows have found out about the process of this space. Pure. */
void hm_softdirty_forget(struct hm_softdirty *softdirty, uint32_t space);

const struct hm_softdirty_state *hm_softdirty_state(const struct hm_softdirty *softdirty);

#endif
