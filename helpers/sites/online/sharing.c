/* SPDX-License-Identifier: Apache-2.0 */
#include "sharing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/marks.h"

#define AT_ONCE 512 /* pages that are looked up together */

struct look {
    const struct hm_residence *residence;
    struct hm_extent *extent;
    struct hm_online_shared *shared;
    uint32_t space; /* the process whose page map is open, or was tried */
    int pagemap;    /* -1: none is */
    size_t n;
    uint64_t page[AT_ONCE];
    size_t at[AT_ONCE]; /* the stretch of each */
};

static void open_map(struct look *look, uint32_t space)
{
    char path[64];
    if (look->pagemap >= 0)
        close(look->pagemap);
    look->space = space;
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)look->residence->ranks->rank[space].pid);
    look->pagemap = open(path, O_RDONLY | O_CLOEXEC);
}

/* Has the process this page for itself? */
static bool is_alone(struct look *look, uint64_t page)
{
    uint64_t entry, number = HM_PAGE_NUMBER(page);
    if (HM_PAGE_SPACE(page) != look->space)
        open_map(look, HM_PAGE_SPACE(page));
    if (look->pagemap < 0 ||
        pread(look->pagemap, &entry, sizeof(entry), (off_t)(number * sizeof(entry))) != (ssize_t)sizeof(entry))
        return true;
    return entry & HM_MARK_ALONE;
}

/* Looks the pages up, and counts them. */
static void answer(struct look *look)
{
    int8_t tier[AT_ONCE];
    hm_residence_look(look->residence, look->page, tier, look->n);
    for (size_t i = 0; i < look->n; i++) {
        size_t at = look->at[i];
        if (tier[i] < 0 || tier[i] > 1)
            continue;
        if (is_alone(look, look->page[i]))
            look->extent[at].tier_pages[tier[i]]++;
        else
            look->shared[at].tier_pages[tier[i]]++;
    }
    look->n = 0;
}

/* How many pages of a stretch are looked at. */
static uint64_t looks_of(const struct hm_extent *extent, uint64_t share)
{
    return hm_least(extent->n_pages, share);
}

/* Scales the counts of the sample up to the whole stretch. */
static void scale(uint64_t tier_pages[2], double factor)
{
    for (int tier = 0; tier < 2; tier++)
        tier_pages[tier] = (uint64_t)((double)tier_pages[tier] * factor + 0.5);
}

void hm_online_sharing_fill(const struct hm_residence *residence, struct hm_extent *extent,
                            struct hm_online_shared *shared, size_t n, size_t n_looks)
{
    struct look look = {.residence = residence, .extent = extent, .shared = shared, .space = UINT32_MAX, .pagemap = -1};
    uint64_t share = hm_most(n > 0 ? n_looks / n : 0, 2);
    for (size_t i = 0; i < n; i++) {
        uint64_t looks = looks_of(&extent[i], share);
        memset(extent[i].tier_pages, 0, sizeof(extent[i].tier_pages));
        shared[i] = (struct hm_online_shared){{0, 0}};
        for (uint64_t k = 0; k < looks; k++) {
            look.at[look.n] = i;
            look.page[look.n++] = extent[i].first + (2 * k + 1) * extent[i].n_pages / (2 * looks);
            if (look.n == AT_ONCE)
                answer(&look);
        }
    }
    answer(&look);
    for (size_t i = 0; i < n; i++) {
        double factor = (double)extent[i].n_pages / (double)hm_most(looks_of(&extent[i], share), 1);
        scale(extent[i].tier_pages, factor);
        scale(shared[i].tier_pages, factor);
    }
    if (look.pagemap >= 0)
        close(look.pagemap);
}
