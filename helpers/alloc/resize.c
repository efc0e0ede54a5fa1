/* SPDX-License-Identifier: Apache-2.0 */
#include "resize.h"

#include <errno.h>
#include <pthread.h>

#include "allocateparts.h"
#include "base/amount.h"
#include "base/pagesize.h"
#include "decide.h"
#include "kept.h"
#include "kernel.h"
#include "room.h"

#define LEAST_AHEAD (16 * HM_KNOWN_HUGE_PAGE)

/* Place the data anew, all of it, and move its pages to where they belong now. */
static void place_anew(struct hm_known *known, const struct hm_resize *wish)
{
    struct hm_folders none = {0};
    size_t page = hm_page_size(), least = hm_whole_pages(known->data_bytes / known->most_runs + 1);
    uint64_t block = hm_place_block_bytes(known->data_bytes, wish->hint.block_bytes, page, HM_KNOWN_HUGE_PAGE);
    hm_room_give(hm_decide_layout(), known->run, known->n_runs);
    known->n_runs = 0;
    known->policy = wish->policy;
    known->block_bytes = block > least ? block : least;
    if (hm_decide(known, &wish->hint, wish->slices, &none) < 0 || hm_decide_bind(known, 0, true) < 0)
        known->n_runs = known->block_bytes = 0;
    hm_room_take(hm_decide_layout(), known->run, known->n_runs);
}

/* Bind the runs from `first` on; those before it are bound. */
static void bind(struct hm_known *known, size_t first)
{
    if (hm_decide_bind(known, first, false) == 0)
        return;
    hm_room_give(hm_decide_layout(), known->run, known->n_runs);
    known->n_runs = known->block_bytes = 0;
}

/* The pages for so many bytes. An allocation that grows may grow again: a few more save the system calls for most of
 * the next steps, where these are small. */
static size_t pages_ahead(size_t bytes)
{
    size_t unit = bytes >= LEAST_AHEAD ? HM_KNOWN_HUGE_PAGE : hm_page_size();
    return hm_round_up(bytes, unit);
}

/* Give the data its new size. Returns its descriptor, which may be another one, or NULL where it is as it was.
 * `lost_policies` becomes true where the policies of its runs are gone: the kernel moves memory of one policy only. */
static struct hm_known *change(struct hm_known *known, size_t data_bytes, bool *lost_policies)
{
    if (data_bytes == known->data_bytes)
        return known;
    if (data_bytes < known->data_bytes)
        return hm_known_shrink(known, data_bytes) ? known : NULL;
    if (hm_known_grow(known, data_bytes))
        return known;
    *lost_policies = *lost_policies || (known->n_runs > 1 && hm_kernel_default(known->data, known->data_bytes) == 0);
    return hm_known_move(known, data_bytes);
}

/* The allocation to resize. `data_bytes` is what it is to have. */
static struct hm_known *find(void *memory, size_t bytes, const struct hm_resize *wish, size_t *data_bytes,
                             struct hm_more *more)
{
    struct hm_known *known = hm_known_find(memory);
    more->n_runs = 0;
    more->is_elsewhere = false;
    if (!known || hm_decide_is_in_folders(known))
        return NULL;
    *data_bytes = bytes < known->bytes || wish->slices ? hm_whole_pages(bytes)
                  : bytes <= known->data_bytes         ? known->data_bytes
                                                       : pages_ahead(bytes);
    if (*data_bytes > known->data_bytes && !wish->slices &&
        !hm_decide_more(known, *data_bytes, wish->policy, &wish->hint, more))
        return NULL;
    return known;
}

/* Finds it, and takes it out of the list, as another thread may have its addresses while it moves. What is kept is
 * given back first where it takes room that the policy would have. */
static struct hm_known *take_out(void *memory, size_t bytes, const struct hm_resize *wish, size_t *data_bytes,
                                 struct hm_more *more)
{
    struct hm_room_look look;
    struct hm_known *known = NULL;
    bool is_ready = false;
    for (int tries = 0; !is_ready; tries++) {
        hm_room_look(hm_decide_layout(), tries > 0, &look);
        if (!hm_known_lock())
            return NULL;
        hm_room_note(hm_decide_layout(), &look);
        known = find(memory, bytes, wish, data_bytes, more);
        is_ready = !more->is_elsewhere || hm_kept_bytes() == 0 || tries > 0;
        if (!is_ready)
            hm_decide_forget(more);
        else if (known)
            hm_known_remove(known);
        struct hm_known *gone = hm_allocate_take_out_kept(!is_ready);
        hm_known_unlock();
        hm_allocate_discard(gone);
    }
    return known;
}

/* What kept memory had more than was asked for is used, if the data still has it. */
static void set_bytes(struct hm_known *known, size_t bytes)
{
    bool is_all = known->data_bytes == hm_whole_pages(bytes);
    known->bytes = bytes;
    known->used_bytes = is_all ? bytes : (size_t)hm_most(known->used_bytes, bytes);
}

/* Place what was added, and bind again what has lost its policies. */
static void place(struct hm_known *known, size_t old_bytes, bool lost_policies, const struct hm_resize *wish,
                  const struct hm_more *more)
{
    size_t n_bound = lost_policies ? 0 : known->n_runs;
    if (wish->slices) {
        place_anew(known, wish);
        return;
    }
    if (known->data_bytes > old_bytes)
        hm_decide_add(known, more);
    hm_decide_cut(known, known->data_bytes);
    bind(known, n_bound);
}

static void *resize(void *memory, size_t bytes, const struct hm_resize *wish)
{
    struct hm_more more;
    bool lost_policies = false;
    size_t data_bytes;
    struct hm_known *known = take_out(memory, bytes, wish, &data_bytes, &more);
    if (!known)
        return NULL;
    size_t old_bytes = known->data_bytes;
    struct hm_known *resized = change(known, data_bytes, &lost_policies);
    if (!resized && data_bytes > hm_whole_pages(bytes))
        resized = change(known, hm_whole_pages(bytes), &lost_policies);
    hm_known_lock(); /* as it was had before, it is had here */
    if (resized) {
        known = resized;
        set_bytes(known, bytes);
        place(known, old_bytes, lost_policies, wish, &more);
    } else {
        hm_decide_forget(&more);
        bind(known, lost_policies ? 0 : known->n_runs);
    }
    hm_known_add(known);
    hm_known_unlock();
    return resized ? resized->data : NULL;
}

void *hm_resize(void *memory, size_t bytes, const struct hm_resize *wish)
{
    int state, number = errno;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state); /* as in hm_allocate */
    void *resized = resize(memory, bytes, wish);
    pthread_setcancelstate(state, NULL);
    errno = number;
    return resized;
}
