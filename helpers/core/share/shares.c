/* SPDX-License-Identifier: Apache-2.0 */
#include "shares.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/grown.h"
#include "split.h"

#define MAGIC 0x484d4631u
#define VERSION 1
#define LEAST sizeof(struct hm_shares) /* its size in the first build of this version */

static const struct hm_shares fresh = {.magic = MAGIC, .version = VERSION, .bytes = sizeof(struct hm_shares)};

int hm_shares_open(const char *path, struct hm_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return fd >= 0 ? fd : hm_fail_errno(error, "cannot open %s", path);
}

static int check(const struct hm_shares *shares, struct hm_error *error)
{
    if (shares->magic == MAGIC && shares->version == VERSION)
        return 0;
    return hm_fail(error, EBADMSG, "the table of shares is of another version, or is no such table");
}

int hm_shares_read(int fd, struct hm_shares *shares, struct hm_error *error)
{
    *shares = fresh;
    return hm_grown_read(fd, shares, sizeof(*shares), LEAST, error) == 0 ? check(shares, error) : -1;
}

struct hm_shares *hm_shares_map(const char *path, struct hm_error *error)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        hm_fail_errno(error, "cannot open %s", path);
        return NULL;
    }
    struct hm_shares *shares = hm_grown_map(fd, &fresh, sizeof(fresh), LEAST, error);
    int number = errno;
    close(fd);
    errno = number;
    if (!shares || check(shares, error) == 0)
        return shares;
    hm_shares_unmap(shares);
    errno = EBADMSG;
    return NULL;
}

void hm_shares_unmap(struct hm_shares *shares)
{
    if (shares)
        munmap(shares, sizeof(*shares));
}

int hm_shares_make(const char *path, struct hm_error *error)
{
    struct hm_error why = {0};
    int fd = hm_grown_create(path, &fresh, sizeof(fresh), &why);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == EEXIST ? 0 : hm_fail(error, errno, "%s", why.text);
}

struct hm_shares_row *hm_shares_find(struct hm_shares *shares, uint32_t job_id)
{
    for (int i = 0; i < HM_SHARES_ROWS; i++)
        if (shares->row[i].job_id == job_id)
            return &shares->row[i];
    return NULL;
}

int hm_shares_join(struct hm_shares *shares, uint32_t job_id, uint64_t weight, uint64_t cap_bytes,
                   struct hm_error *error)
{
    struct hm_shares_row *row = hm_shares_find(shares, job_id);
    if (row) {
        row->weight = weight;
        row->cap_bytes = hm_most(row->cap_bytes, cap_bytes);
        return 0;
    }
    row = hm_shares_find(shares, 0);
    if (!row)
        return hm_fail(error, ENOSPC, "%d jobs share the fast tier already: it takes what is free", HM_SHARES_ROWS);
    row->weight = weight;
    row->cap_bytes = cap_bytes;
    row->fast_bytes = row->slow_bytes = HM_SHARES_UNKNOWN;
    /* Last, as migrators read the table at any time: a row with a job is whole. */
    __atomic_store_n(&row->job_id, job_id, __ATOMIC_RELEASE);
    return 0;
}

void hm_shares_leave(struct hm_shares *shares, uint32_t job_id)
{
    struct hm_shares_row *row = hm_shares_find(shares, job_id);
    if (row)
        __atomic_store_n(&row->job_id, 0, __ATOMIC_RELEASE);
}

void hm_shares_note(struct hm_shares *shares, uint32_t job_id, uint64_t fast_bytes, uint64_t slow_bytes)
{
    struct hm_shares_row *row = hm_shares_find(shares, job_id);
    if (!row)
        return;
    __atomic_store_n(&row->fast_bytes, fast_bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&row->slow_bytes, slow_bytes, __ATOMIC_RELAXED);
}

static uint64_t add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* What a job could use at most. */
static uint64_t wants_of(const struct hm_shares_row *row)
{
    return hm_least(row->cap_bytes, add(row->fast_bytes, row->slow_bytes));
}

/* The monitor looks at a job only now and then, and a migrator knows its own step, and mostly its job, as they are now:
 * the job has at least what the step has. */
static void see_own(struct hm_shares_row *row, const struct hm_shares_look *look)
{
    uint64_t *const told[2] = {&row->fast_bytes, &row->slow_bytes};
    for (int tier = 0; tier < 2; tier++) {
        if (look->knows_job)
            *told[tier] = look->job_bytes[tier];
        if (*told[tier] == HM_SHARES_UNKNOWN || *told[tier] < look->used_bytes[tier])
            *told[tier] = look->used_bytes[tier];
    }
}

/* The step's part of the job's: see the header. */
static uint64_t part_of_step(uint64_t part, uint64_t job_bytes, uint64_t step_bytes)
{
    if (job_bytes <= part)
        return add(step_bytes, part - job_bytes);
    return (uint64_t)((double)part * ((double)step_bytes / (double)job_bytes));
}

uint64_t hm_shares_of_step(struct hm_shares *shares, const struct hm_shares_look *look)
{
    struct hm_sharer sharers[HM_SHARES_ROWS];
    uint64_t parts[HM_SHARES_ROWS], shared = look->room_bytes;
    size_t n = 0, own = 0;
    struct hm_shares_row *mine = look->job_id == 0 ? NULL : hm_shares_find(shares, look->job_id);
    if (!mine)
        return UINT64_MAX;
    see_own(mine, look);
    for (int i = 0; i < HM_SHARES_ROWS; i++) {
        const struct hm_shares_row *row = &shares->row[i];
        if (row->job_id == 0)
            continue;
        if (row->fast_bytes != HM_SHARES_UNKNOWN)
            shared = add(shared, row->fast_bytes);
        if (row == mine)
            own = n;
        sharers[n++] = (struct hm_sharer){.weight = hm_most(row->weight, 1),
                                          .wants_bytes = row == mine ? row->cap_bytes : wants_of(row)};
    }
    if (n < 2)
        return UINT64_MAX;
    hm_share_split(sharers, n, hm_least(shared, look->total_bytes), parts);
    return part_of_step(parts[own], mine->fast_bytes, look->used_bytes[0]);
}
