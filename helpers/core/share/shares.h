/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node's table of the jobs that share the fast tier: a file of one structure (base/grown.h) in <run_dir>/root/node.
 * Root enters a job when the first of its migrators begins, and takes it out when the last has ended, under the
 * ledger's lock. Each job's monitor writes what its job uses. The migrators only read the file: root has opened it for
 * them, as no user reaches its folder. So no migrator has to look at another job's cgroup, which that job's user could
 * make take for ever.
 */
#ifndef HM_CORE_SHARE_SHARES_H
#define HM_CORE_SHARE_SHARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define HM_SHARES_NAME "shares"
#define HM_SHARES_ROWS 128           /* most jobs; more of them have no row, and so no limit */
#define HM_SHARES_UNKNOWN UINT64_MAX /* of fast_bytes and slow_bytes: the monitor has not told them */
#define HM_SHARES_NO_CAP UINT64_MAX

struct hm_shares_row {
    uint32_t job_id; /* 0: the row is free */
    uint32_t spare;
    uint64_t weight;
    uint64_t cap_bytes;              /* fast= of the job's migrators, the largest; HM_SHARES_NO_CAP: one has none */
    uint64_t fast_bytes, slow_bytes; /* anonymous and shared memory of the job, without page cache */
};

/* The structure only grows. */
struct hm_shares {
    uint32_t magic, version, bytes, spare;
    struct hm_shares_row row[HM_SHARES_ROWS];
};

/* Opens the file for reading. Returns a descriptor that the caller closes, or -1. */
int hm_shares_open(const char *path, struct hm_error *error);
/* Reads the table. Returns 0, or -1 (EBADMSG: it is no such file, or of a version that this one does not know; EIO). */
int hm_shares_read(int fd, struct hm_shares *shares, struct hm_error *error);

/* Maps the file for writing. Returns the map, which hm_shares_unmap removes, or NULL as hm_shares_read. */
struct hm_shares *hm_shares_map(const char *path, struct hm_error *error);
/* Does nothing for NULL. */
void hm_shares_unmap(struct hm_shares *shares);
/* Makes the file, unless it is there. Returns 0 or -1. */
int hm_shares_make(const char *path, struct hm_error *error);

/* The functions below change or read a table. Pure. */

/* The job's row, or NULL. */
struct hm_shares_row *hm_shares_find(struct hm_shares *shares, uint32_t job_id);
/* Enters the job. One that has a row keeps it, with what it uses, and the larger of both caps. Returns 0, or -1
 * (ENOSPC) where there is no free row. `weight` is at least 1. */
int hm_shares_join(struct hm_shares *shares, uint32_t job_id, uint64_t weight, uint64_t cap_bytes,
                   struct hm_error *error);
/* Takes the job out. */
void hm_shares_leave(struct hm_shares *shares, uint32_t job_id);
/* Notes what the job uses, if it has a row. */
void hm_shares_note(struct hm_shares *shares, uint32_t job_id, uint64_t fast_bytes, uint64_t slow_bytes);

/* What a migrator knows by itself, in bytes. */
struct hm_shares_look {
    uint32_t job_id;
    uint64_t used_bytes[2]; /* what its step has in the fast and the slow tier */
    uint64_t job_bytes[2];  /* what its whole job has there; `knows_job`: it could be read */
    bool knows_job;
    uint64_t room_bytes;  /* free in the fast tier */
    uint64_t total_bytes; /* of the fast tier, free or not */
};

/*
 * How much of the fast tier the migrator's step may have now. What is shared is what is free, and what the sharing jobs
 * use. Another job wants no more than the memory that it has, and no more than its cap; the job itself may grow, and so
 * wants all that its cap allows. What other steps of the job use is taken off its part; if the job is above its part,
 * each step gives back in proportion to what it uses. A job of which nobody knows what it uses counts as one that wants
 * its whole part, and what it has does not count as shared. What its own job uses is as old as its monitor's last look
 * unless the migrator knows it: then steps would be told again and again to give back what they have given back since.
 * Changes the job's own row. Returns UINT64_MAX where the job
 * shares the tier with nobody.
 */
uint64_t hm_shares_of_step(struct hm_shares *shares, const struct hm_shares_look *look);

#endif
