/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions that tell where an allocation was placed, and where its pages are now. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/pagesize.h"
#include "kernel.h"
#include "known.h"

#define PUBLIC __attribute__((visibility("default")))
#define BATCH 1024    /* pages of one system call */
#define IN_FILES (-1) /* in the place of a node's number */

/* Find or add the row of a node. Returns NULL where all rows are used, which can only happen on a machine with more
 * than HM_ALLOC_NODES nodes. */
static struct hm_alloc_node *row_of(struct hm_alloc_where *where, int node)
{
    for (int i = 0; i < where->n_nodes; i++)
        if (where->node[i].node == node)
            return &where->node[i];
    if (where->n_nodes == HM_ALLOC_NODES + 1)
        return NULL;
    where->node[where->n_nodes].node = node;
    return &where->node[where->n_nodes++];
}

/* Count the pages of one stretch of plain memory, by node. */
static int count_pages(struct hm_alloc_where *where, char *from, size_t bytes, size_t page_bytes)
{
    void *page[BATCH];
    int node[BATCH];
    for (size_t at = 0; at < bytes;) {
        size_t count = 0;
        for (; count < BATCH && at < bytes; at += page_bytes)
            page[count++] = from + at;
        if (hm_kernel_where(count, page, node) < 0)
            return -1;
        for (size_t i = 0; i < count; i++) {
            struct hm_alloc_node *row = node[i] >= 0 ? row_of(where, node[i]) : NULL;
            *(row ? &row->resident_bytes : &where->absent_bytes) += page_bytes;
        }
    }
    return 0;
}

static const struct hm_known *find(const void *memory)
{
    bool is_locked = hm_known_lock();
    const struct hm_known *known = hm_known_find(memory);
    if (is_locked)
        hm_known_unlock();
    if (!known)
        errno = EINVAL;
    return known;
}

static bool is_file(const struct hm_alloc_run *run)
{
    return run->folder >= 0;
}

PUBLIC int hm_where(const void *memory, struct hm_alloc_where *where)
{
    size_t page = hm_page_size();
    const struct hm_known *known = find(memory);
    if (!known)
        return -1;
    memset(where, 0, sizeof(*where));
    where->bytes = known->bytes;
    where->block_bytes = known->block_bytes;
    where->policy = known->policy;
    snprintf(where->reason, sizeof(where->reason), "%s", known->reason);
    for (size_t i = 0; i < known->n_runs; i++) {
        struct hm_alloc_node *row = row_of(where, is_file(&known->run[i]) ? IN_FILES : known->run[i].node);
        if (row)
            row->wanted_bytes += known->run[i].bytes;
    }
    if (known->n_runs == 0)
        return count_pages(where, known->data, known->data_bytes, page);
    for (size_t i = 0; i < known->n_runs; i++)
        if (!is_file(&known->run[i]) &&
            count_pages(where, known->data + known->run[i].offset, known->run[i].bytes, page) < 0)
            return -1;
    return 0;
}

PUBLIC int hm_where_run(const void *memory, size_t offset, struct hm_alloc_run *run)
{
    const struct hm_known *known = find(memory);
    if (!known)
        return -1;
    for (size_t i = 0; i < known->n_runs; i++) {
        if (offset >= known->run[i].offset && offset - known->run[i].offset < known->run[i].bytes) {
            *run = known->run[i];
            return 0;
        }
    }
    errno = EINVAL;
    return -1;
}
