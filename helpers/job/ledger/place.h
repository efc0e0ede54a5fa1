/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the ledger's folder is: <run_dir>/root/jobs, whose locks no user reaches (base/rundir.h). <run_dir>/jobs is a
 * symbolic link to it. In earlier versions <run_dir>/jobs was the folder itself. They open it without following links,
 * and slurmstepds of jobs that began with them may still do so. So a folder that is still at the old place is used
 * there as long as it has an entry of any job.
 */
#ifndef HM_JOB_LEDGER_PLACE_H
#define HM_JOB_LEDGER_PLACE_H

#include <stdbool.h>

#include "core/config/config.h"

/*
 * Opens the folder (root's, 0700), and makes it, its link and the folders above as needed. Returns a descriptor, or -1:
 * EPERM where one of them belongs to somebody else, or others may write to it.
 */
int hm_place_open(const struct hm_config *config, struct hm_error *error);

/* Is the folder still where versions before had it? */
bool hm_place_is_old(const struct hm_config *config);

/* Opened folders, for a move. */
struct hm_place_move {
    int run, root;
};

/*
 * A move in three parts, as users can hold up whoever makes something in run_dir (base/rundir.h), and the ledger's lock
 * is to be free meanwhile.
 *
 * hm_place_move_begin opens the folders and makes the new place ready. Call it without the lock. Returns 0, or -1:
 * ENOTEMPTY where there is a second ledger in the new place.
 */
int hm_place_move_begin(const struct hm_config *config, struct hm_place_move *move, struct hm_error *error);
/*
 * Moves the folder from where versions before had it, with all that is in it, by one call of the kernel's. Whoever has
 * it open keeps it. `run_dir/jobs` leads to it at any moment: it is the folder until that call, and a link to it from
 * then on. The caller holds the ledger's lock, which stays the same file. Returns 0, also where it is in its place
 * already, or -1.
 */
int hm_place_move(const struct hm_place_move *move, struct hm_error *error);
/* Closes the folders. Keeps errno. */
void hm_place_move_end(struct hm_place_move *move);

#endif
