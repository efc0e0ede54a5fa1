/* SPDX-License-Identifier: Apache-2.0 */
#include "present.h"

#include <errno.h>
#include <unistd.h>

#include "base/marks.h"
#include "base/pagesize.h"

/* Limits of one PAGEMAP_SCAN, as it holds the process's mmap lock: */
#define SCAN_SPAN (UINT64_C(1) << 24) /* pages of addresses: 64 GiB or more */
#define SCAN_PAGES 8192               /* present pages */
#define SCAN_RANGES 256
#define GOLDEN 0.6180339887498949

void hm_present_init(struct hm_present *present)
{
    *present = (struct hm_present){.pagemap = -1, .has_scan = true};
}

void hm_present_begin(struct hm_present *present, uint64_t first, uint64_t end, uint64_t turn)
{
    present->at = first;
    present->end = end;
    present->later = (struct hm_range){0};
    present->n_runs = present->next = 0;
    present->missing += (uint64_t)((double)(end - first) * present->density * HM_PRESENT_MISSING_EACH);
    if (present->has_scan || turn % 2 == 0 || end - first <= present->missing)
        return;
    /*
     * Every other look begins at another place, in case only a part can be read. The golden ratio spreads these places
     * evenly, and follows no stride of the program.
     */
    double place = (double)(turn / 2 + 1) * GOLDEN;
    place -= (double)(uint64_t)place;
    present->at = (first + (uint64_t)(place * (double)(end - first))) / hm_huge_pages() * hm_huge_pages();
    present->at = present->at > first ? present->at : first;
    present->later = (struct hm_range){first, present->at - first};
}

/* Adds pages to the last run, or as a run of their own. Returns false if there is no place for one. */
static bool add_run(struct hm_present *present, uint64_t first, uint64_t n_pages, bool may_be_huge, bool is_file)
{
    struct hm_present_run *last = present->n_runs > 0 ? &present->run[present->n_runs - 1] : NULL;
    if (last && last->pages.first + last->pages.n_pages == first && last->may_be_huge == may_be_huge &&
        last->is_file == is_file) {
        last->pages.n_pages += n_pages;
        return true;
    }
    if (present->n_runs == HM_PRESENT_RUNS)
        return false;
    present->run[present->n_runs++] = (struct hm_present_run){{first, n_pages}, may_be_huge, is_file};
    return true;
}

/*
 * Finds present pages by PAGEMAP_SCAN, without the zero page, which is on no node. Returns false if the call fails, and
 * does not try it again if the kernel does not have it, or a container forbids it.
 */
static bool scan(struct hm_present *present)
{
    struct hm_present_range range[SCAN_RANGES];
    uint64_t end = present->end - present->at > SCAN_SPAN ? present->at + SCAN_SPAN : present->end;
    struct hm_present_scan request = {
        .size = sizeof(request),
        .start = present->at << hm_page_shift(),
        .end = end << hm_page_shift(),
        .vec = (uintptr_t)range,
        .vec_len = SCAN_RANGES,
        .max_pages = SCAN_PAGES,
        .category_inverted = HM_PRESENT_IS_ZERO,
        .category_mask = HM_PRESENT_IS_PRESENT | HM_PRESENT_IS_ZERO,
        .return_mask = HM_PRESENT_IS_FILE | HM_PRESENT_IS_PRESENT | HM_PRESENT_IS_HUGE,
    };
    int n = ioctl(present->pagemap, HM_PRESENT_SCAN, &request);
    if (n < 0 && errno != ESRCH) {
        present->has_scan = errno != ENOTTY && errno != EINVAL && errno != EPERM;
        return false;
    }
    uint64_t reached = request.walk_end >> hm_page_shift();
    for (int i = 0; i < n; i++) {
        uint64_t first = range[i].start >> hm_page_shift(), after = range[i].end >> hm_page_shift();
        if (!add_run(present, first, after - first, range[i].categories & HM_PRESENT_IS_HUGE,
                     range[i].categories & HM_PRESENT_IS_FILE)) {
            reached = first;
            break;
        }
    }
    present->at = n >= 0 && reached > present->at ? reached : present->end;
    return true;
}

static void read_map(struct hm_present *present)
{
    uint64_t left = present->end - present->at, count = left < HM_PRESENT_ENTRIES ? left : HM_PRESENT_ENTRIES;
    ssize_t length = pread(present->pagemap, present->entry, count * sizeof(present->entry[0]),
                           (off_t)(present->at * sizeof(present->entry[0])));
    uint64_t n = length > 0 ? (uint64_t)length / sizeof(present->entry[0]) : 0, found = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!(present->entry[i] & HM_MARK_PRESENT))
            continue;
        if (!add_run(present, present->at + i, 1, true, present->entry[i] & HM_MARK_FILE))
            n = i; /* the rest is read again, when there is place for it */
        else
            found++;
    }
    present->missing += found * HM_PRESENT_MISSING_EACH;
    present->missing -= n - found < present->missing ? n - found : present->missing;
    present->at += n;
    if (n == 0) /* the process has ended */
        present->at = present->end;
    if (n == 0 || present->missing == 0) {
        present->end = present->at;
        present->later.n_pages = 0;
    }
}

/* Returns false if there are no more present pages. */
static bool find_runs(struct hm_present *present)
{
    present->n_runs = present->next = 0;
    while (present->n_runs == 0) {
        if (present->at >= present->end) {
            if (present->later.n_pages == 0)
                return false;
            present->at = present->later.first;
            present->end = present->later.first + present->later.n_pages;
            present->later.n_pages = 0;
        }
        if (present->pagemap < 0) {
            add_run(present, present->at, present->end - present->at, true, false);
            present->at = present->end;
        } else if (!present->has_scan || !scan(present)) {
            read_map(present);
        }
    }
    return true;
}

size_t hm_present_next(struct hm_present *present, uint64_t *page, bool *may_be_huge, bool *is_file, size_t room)
{
    size_t n = 0;
    while (n < room && (present->next < present->n_runs || find_runs(present))) {
        struct hm_present_run *run = &present->run[present->next];
        bool is_next_block = n > 0 && run->pages.first / hm_huge_pages() != page[n - 1] / hm_huge_pages();
        if (is_next_block && n + hm_huge_pages() > room)
            break;
        may_be_huge[n] = run->may_be_huge;
        is_file[n] = run->is_file;
        page[n++] = run->pages.first++;
        if (--run->pages.n_pages == 0)
            present->next++;
    }
    return n;
}
