/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages are written: the write side for sources that cannot tell (DAMON, faults). The kernel marks a page
 * soft-dirty at its first write after the marks were cleared (/proc/PID/clear_refs, 4) and shows the mark in bit 55 of
 * /proc/PID/pagemap; both as the processes' user. A clear write-protects all pages of the process, and each page that
 * is written then costs it a fault, so windows are as rare as the budget wants. How to use it:
 *
 *     at the start of a window, at the end of the phase         hm_softdirty_begin(softdirty, ranks)
 *     at the end of the phase, for the decider's regions        hm_softdirty_add(softdirty, page, n_pages) ...
 *                                                               hm_softdirty_end(softdirty, ranks)
 *     from then on, in the source's sink, before observing      hm_softdirty_split(softdirty, observations, count)
 *     when a space is given to another process                  hm_softdirty_forget(softdirty, space)
 *
 * Nothing has to be done where source.knows_writes. What a region's window found stays until the next one of its
 * process. Soft-dirty marks belong to the process: a checkpointing tool that uses them (CRIU) is disturbed.
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

#define HM_SOFTDIRTY_RANGES 8192 /* kept, of all processes */
#define HM_SOFTDIRTY_PAGES 64    /* looked at in a range at most */

struct hm_softdirty;

struct hm_softdirty_state {
    uint64_t windows;     /* of a process each */
    uint64_t clears_ns;   /* time that clearing took */
    uint64_t dirty_pages; /* estimate: pages that were written in windows, and took a fault */
    double cpu_s;         /* CPU time of clears, looks, and of those faults in the job, at what one costs here */
    double fault_us;      /* that cost: measured at the start on a few pages of our own */
};

/*
 * `by_place`: what is wanted is where writes are, not how much a process writes: the shares of ranges stand as they
 * were seen, and those of what is in no range are not known; observations are to be cut by hm_softdirty_border(). Else
 * chance is taken out of the shares, and a process's windows together say what it writes in all (level.h).
 *
 * `overhead`: CPU time that all this may cost, the job's faults included, as a share of `n_cpus`; a process's next
 * window waits until its last one is paid for. Returns NULL with a text where the kernel has no soft-dirty marks
 * (ENOTSUP; CONFIG_MEM_SOFT_DIRTY, x86, s390 and some others) or on ENOMEM. Free with hm_softdirty_free.
 */
struct hm_softdirty *hm_softdirty_new(double overhead, unsigned n_cpus, bool by_place, struct hm_error *error);
void hm_softdirty_free(struct hm_softdirty *softdirty);

/* Length of a short window: of the order of the time between DAMON's looks, so that both see alike. */
unsigned hm_softdirty_window_ms(void);
/* Clear the marks of the processes that are due, the longest waiting first. A process that cannot be cleared is left
 * out. Returns how many. */
int hm_softdirty_begin(struct hm_softdirty *softdirty, const struct hm_ranks *ranks);
/* Does the process have a window that is open? Pure. */
bool hm_softdirty_has_window(const struct hm_softdirty *softdirty, uint32_t space);
/* Name a range of which the share is wanted; ascending pages. Returns false where it is ignored: that of a process
 * without a window, and what finds no room. */
bool hm_softdirty_add(struct hm_softdirty *softdirty, uint64_t page, uint64_t n_pages);
/*
 * Name all of a process's memory in at most `most` (1 at least) ranges of about one size; ascending spaces. `begun`:
 * its mappings at the begin of the window, `now`: at its end, both apart. What is new or has grown since then is left
 * out: the kernel marks the whole of it. Small mappings are in one range with their neighbours, holes included. Returns
 * how many ranges are taken. Pure.
 */
size_t hm_softdirty_add_all(struct hm_softdirty *softdirty, uint32_t space, const struct hm_maps *begun,
                            const struct hm_maps *now, size_t most);
/* Look at present pages of the ranges, about HM_SOFTDIRTY_PAGES each, spread over it. Ends the window. */
void hm_softdirty_end(struct hm_softdirty *softdirty, const struct hm_ranks *ranks);

/*
 * Turn the reads of observations that do not know of writes into reads and writes by the share of written pages in the
 * range around each one's middle: writes = share * reads, reads = (1 - share) * reads, knows_writes. A page that is
 * written once and read often in the window counts as written. Without a range: by what its process writes in all, so
 * that nothing is dearer for having been looked at; before any window, and by place: left as it is. Pure.
 */
void hm_softdirty_split(const struct hm_softdirty *softdirty, struct hm_observation *observations, size_t count);
/* The share of written pages (0..1) in the range that holds the page, or -1 where it is not known. Pure. */
double hm_softdirty_share(const struct hm_softdirty *softdirty, uint64_t page);
/* The first page behind `page` where a range begins or ends; UINT64_MAX where there is none, and but by place. Pure. */
uint64_t hm_softdirty_border(const struct hm_softdirty *softdirty, uint64_t page);
void hm_softdirty_forget(struct hm_softdirty *softdirty, uint32_t space);

const struct hm_softdirty_state *hm_softdirty_state(const struct hm_softdirty *softdirty);

#endif
