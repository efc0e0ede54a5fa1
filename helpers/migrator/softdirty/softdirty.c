/* SPDX-License-Identifier: Apache-2.0 */
/* Begins and ends windows: clears the soft-dirty marks of processes, and later looks which pages were written. */
#include "parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/marks.h"
#include "base/pagesize.h"
#include "base/process.h"
#include "migrator/watch/resident.h"

#define WINDOW_MS 50
#define CLEAR "4"                                    /* written to clear_refs, clears the soft-dirty marks */
#define TRIAL_PAGES 64                               /* pages of our own on which the cost of a fault is measured */
#define CHUNK 8                                      /* neighbouring pages of a large range read together */
#define MOST_CHUNKS (4 * HM_SOFTDIRTY_PAGES / CHUNK) /* most chunks read in a range with holes */
/*
 * With each window of any process, the place of a range at which look() begins moves on by SHIFT / PLACES of the range.
 * From there, look() moves on by the golden ratio. The two steps differ, so that a window does not repeat places of the
 * window before.
 */
#define SHIFT 7549
#define PLACES 10000
/* most ranges of a process from which the cost of its last window is estimated */
#define RECOUNTED 8
/* What a window has caused until now is not counted again before this many times as much time has passed. */
#define COUNT_LATER 1.5
#define AT_ONCE 64 /* most processes with a window at the same time */
#define SECOND_NS UINT64_C(1000000000)

static int open_file(pid_t pid, const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return open(path, flags | O_CLOEXEC);
}

static int clear_marks(pid_t pid)
{
    int fd = open_file(pid, "clear_refs", O_WRONLY);
    if (fd < 0)
        return -1;
    ssize_t written = write(fd, CLEAR, sizeof(CLEAR) - 1);
    close(fd);
    return written == (ssize_t)sizeof(CLEAR) - 1 ? 0 : -1;
}

struct seen {
    uint32_t entries, present, dirty;
};

/*
 * Looks at all pages of a small range at once, as a call costs as much as tens of pages. Looks at those of a larger one
 * in chunks, at places spread by the golden ratio, which follows no stride of a program. The first place differs from
 * window to window (`nth`), so that later windows see what lies between the places of this one.
 */
static struct seen look(int pagemap, uint64_t first, uint64_t n_pages, uint64_t nth)
{
    struct seen seen = {0};
    uint64_t entry[HM_SOFTDIRTY_PAGES];
    uint64_t chunk = n_pages <= HM_SOFTDIRTY_PAGES ? n_pages : CHUNK;
    uint64_t starts = n_pages - chunk + 1;
    double place = (double)(nth * SHIFT % PLACES) / PLACES;
    for (int c = 0; c < MOST_CHUNKS && seen.present < HM_SOFTDIRTY_PAGES && seen.entries < n_pages; c++) {
        uint64_t page = first + (uint64_t)(place * (double)starts);
        ssize_t length = pread(pagemap, entry, chunk * sizeof(entry[0]), (off_t)(page * sizeof(entry[0])));
        for (ssize_t i = 0; i < length / (ssize_t)sizeof(entry[0]); i++) {
            seen.entries++;
            seen.present += (entry[i] & HM_MARK_PRESENT) != 0;
            seen.dirty += (entry[i] & HM_MARK_PRESENT) != 0 && (entry[i] & HM_MARK_DIRTY) != 0;
        }
        place += 0.6180339887498949;
        place -= place >= 1;
    }
    return seen;
}

/*
 * Measures the cost of a fault on a page whose mark was cleared, with pages of our own. Returns 0, or -1 if the kernel
 * keeps no marks, there is no memory, or the marks cannot be cleared.
 */
static int measure_fault(struct hm_softdirty *softdirty, struct hm_error *error)
{
    if (!hm_marks_are_kept())
        return hm_fail(error, ENOTSUP, "this kernel has no soft-dirty marks (CONFIG_MEM_SOFT_DIRTY)");
    size_t page = hm_page_size(), bytes = TRIAL_PAGES * page;
    char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return hm_fail_errno(error, "no memory for soft-dirty marks");
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    memset(pages, 1, bytes);
    int result = clear_marks(getpid());
    if (result != 0)
        hm_fail_errno(error, "soft-dirty marks cannot be cleared");
    uint64_t start_ns = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < TRIAL_PAGES; i++)
        ((volatile char *)pages)[i * page] = 2;
    uint64_t end_ns = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    munmap(pages, bytes);
    softdirty->state.fault_us = (double)(end_ns - start_ns) / TRIAL_PAGES / 1000;
    return result;
}

struct hm_softdirty *hm_softdirty_new(double overhead, unsigned n_cpus, bool by_place, struct hm_error *error)
{
    struct hm_softdirty *softdirty = calloc(1, sizeof(*softdirty));
    if (!softdirty) {
        hm_fail(error, ENOMEM, "no memory for soft-dirty marks");
        return NULL;
    }
    softdirty->budget = overhead * (n_cpus > 0 ? n_cpus : 1);
    softdirty->by_place = by_place;
    if (measure_fault(softdirty, error) == 0)
        return softdirty;
    free(softdirty);
    return NULL;
}

void hm_softdirty_free(struct hm_softdirty *softdirty)
{
    free(softdirty);
}

unsigned hm_softdirty_window_ms(void)
{
    return WINDOW_MS;
}

const struct hm_softdirty_state *hm_softdirty_state(const struct hm_softdirty *softdirty)
{
    return &softdirty->state;
}

/*
 * Estimates how many pages were written since the marks were cleared; each took a fault. It uses the share in some of
 * the known ranges. If these are the hot ones, the estimate is somewhat too large.
 */
static double count_dirty(const struct hm_softdirty *softdirty, int pagemap, pid_t pid, uint32_t space)
{
    uint32_t n = 0, nth = 0;
    double present = 0, dirty = 0;
    for (uint32_t i = 0; i < softdirty->known.n; i++)
        n += HM_PAGE_SPACE(softdirty->known.range[i].page) == space;
    for (uint32_t i = 0; i < softdirty->known.n; i++) {
        const struct hm_softdirty_range *range = &softdirty->known.range[i];
        if (HM_PAGE_SPACE(range->page) != space || nth++ % (n / RECOUNTED + 1) != 0)
            continue;
        struct seen seen = look(pagemap, HM_PAGE_NUMBER(range->page), range->n_pages, softdirty->state.windows);
        /* pages that each looked-at page stands for */
        double pages = seen.entries > 0 ? (double)range->n_pages / seen.entries : 0;
        present += pages * seen.present;
        dirty += pages * seen.dirty;
    }
    return present > 0 ? (double)hm_resident_pages(pid) * dirty / present : 0;
}

/* Is the last window paid for, with all the faults that it has caused until now? */
static bool is_due(struct hm_softdirty *softdirty, const struct hm_ranks *ranks, uint32_t space)
{
    struct hm_softdirty_process *process = &softdirty->process[space];
    double share = softdirty->budget / (ranks->n_living > 0 ? ranks->n_living : 1);
    double passed_s = (double)(hm_clock_ns(CLOCK_MONOTONIC) - process->begun_ns) / SECOND_NS;
    if (process->begun_ns == 0)
        return true;
    if (process->cost_s > share * passed_s || passed_s < process->count_s)
        return false;
    process->count_s = COUNT_LATER * passed_s;
    int pagemap = open_file(ranks->rank[space].pid, "pagemap", O_RDONLY);
    double dirty = pagemap < 0 ? 0 : count_dirty(softdirty, pagemap, ranks->rank[space].pid, space);
    if (pagemap >= 0)
        close(pagemap);
    double cost_s = process->clear_s + dirty * softdirty->state.fault_us * 1e-6;
    process->cost_s = cost_s > process->cost_s ? cost_s : process->cost_s;
    return process->cost_s <= share * passed_s;
}

/*
 * Clears the marks. `cost_s` gets how long the process's other threads may have had to wait, by the clock. What the
 * next walk is expected to take goes by CPU time: else one walk that had to wait, for a CPU or for the lock, would be
 * the last one.
 */
static int walk(struct hm_softdirty_process *process, pid_t pid, uint64_t pages, double *cost_s)
{
    uint64_t before_ns = hm_clock_ns(CLOCK_MONOTONIC), cpu_ns = hm_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (clear_marks(pid) != 0)
        return -1;
    process->walk.took_s = (double)(hm_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns) / SECOND_NS;
    process->walk.pages = pages;
    *cost_s = (double)(hm_clock_ns(CLOCK_MONOTONIC) - before_ns) / SECOND_NS;
    return 0;
}

static bool begin_one(struct hm_softdirty *softdirty, const struct hm_ranks *ranks, uint32_t space)
{
    struct hm_softdirty_process *process = &softdirty->process[space];
    pid_t pid = ranks->rank[space].pid;
    double cost_s;
    if (pid <= 0 || ranks->rank[space].is_gone || !is_due(softdirty, ranks, space))
        return false;
    uint64_t pages = hm_resident_pages(pid);
    if (hm_softdirty_walk_s(&process->walk, pages, softdirty->huge) > HM_SOFTDIRTY_MOST_S) {
        softdirty->state.n_long++;
        return false;
    }
    if (!hm_ranks_is_ours(ranks, space) || walk(process, pid, pages, &cost_s) != 0)
        return false;
    *process = (struct hm_softdirty_process){.begun_ns = hm_clock_ns(CLOCK_MONOTONIC),
                                             .cost_s = cost_s,
                                             .clear_s = cost_s,
                                             .begun_s = hm_process_cpu_s(pid),
                                             .used_s = -1,
                                             .has_window = true,
                                             .walk = process->walk};
    softdirty->state.windows++;
    return true;
}

static void close_windows(struct hm_softdirty *softdirty)
{
    for (uint32_t space = 0; space < HM_RANKS; space++)
        softdirty->process[space].has_window = false;
}

int hm_softdirty_begin(struct hm_softdirty *softdirty, const struct hm_ranks *ranks)
{
    uint32_t n = ranks->n < HM_RANKS ? ranks->n : HM_RANKS;
    uint32_t first = n > 0 ? softdirty->turn % n : 0;
    int begun = 0;
    softdirty->wanted.n = 0;
    softdirty->state.n_long = 0;
    softdirty->huge = hm_softdirty_huge_share(ranks->cgroup);
    close_windows(softdirty); /* in case the last window was not ended */
    for (uint32_t i = 0; i < n && begun < AT_ONCE; i++) {
        uint32_t space = (first + i) % n;
        begun += begin_one(softdirty, ranks, space);
        softdirty->turn = space + 1;
    }
    return begun;
}

bool hm_softdirty_has_window(const struct hm_softdirty *softdirty, uint32_t space)
{
    return space < HM_RANKS && softdirty->process[space].has_window;
}

bool hm_softdirty_add(struct hm_softdirty *softdirty, uint64_t page, uint64_t n_pages)
{
    if (n_pages == 0 || !hm_softdirty_has_window(softdirty, HM_PAGE_SPACE(page)) ||
        softdirty->wanted.n == HM_SOFTDIRTY_RANGES)
        return false;
    softdirty->wanted.range[softdirty->wanted.n++] =
        (struct hm_softdirty_range){.page = page, .n_pages = n_pages, .share = -1};
    return true;
}

/* Sets the CPU time of the process in its window. */
static void see_use(struct hm_softdirty *softdirty, const struct hm_ranks *ranks, uint32_t space)
{
    struct hm_softdirty_process *process = &softdirty->process[space];
    double now_s = space < ranks->n && ranks->rank[space].pid > 0 ? hm_process_cpu_s(ranks->rank[space].pid) : -1;
    process->used_s = process->begun_s >= 0 && now_s >= process->begun_s ? now_s - process->begun_s : -1;
}

void hm_softdirty_end(struct hm_softdirty *softdirty, const struct hm_ranks *ranks)
{
    uint32_t space = UINT32_MAX;
    int pagemap = -1;
    for (uint32_t i = 0; i < softdirty->wanted.n; i++) {
        struct hm_softdirty_range *range = &softdirty->wanted.range[i];
        if (HM_PAGE_SPACE(range->page) != space) {
            if (pagemap >= 0)
                close(pagemap);
            space = HM_PAGE_SPACE(range->page);
            see_use(softdirty, ranks, space);
            pagemap = space < ranks->n && ranks->rank[space].pid > 0
                          ? open_file(ranks->rank[space].pid, "pagemap", O_RDONLY)
                          : -1;
        }
        struct seen seen = pagemap < 0
                               ? (struct seen){0}
                               : look(pagemap, HM_PAGE_NUMBER(range->page), range->n_pages, softdirty->state.windows);
        if (seen.present == 0)
            continue;
        range->share = (float)seen.dirty / (float)seen.present;
        range->seen = seen.present;
        double dirty = (double)range->n_pages * seen.dirty / seen.entries;
        softdirty->state.dirty_pages += (uint64_t)dirty;
        softdirty->process[space].cost_s += dirty * softdirty->state.fault_us * 1e-6;
    }
    if (pagemap >= 0)
        close(pagemap);
    hm_softdirty_replace(softdirty);
    close_windows(softdirty);
}
