/* SPDX-License-Identifier: Apache-2.0 */
/* The folder in which the DAMON broker and those who start it keep their files, <run_dir>/root/node (base/rundir.h). */
#ifndef HM_MIGRATOR_DAMON_FOLDER_H
#define HM_MIGRATOR_DAMON_FOLDER_H

#include "base/rundir.h"

#define HM_DAMON_STATE "damon.state" /* tells the next broker which kdamonds this one made */
#define HM_DAMON_START "damon.start" /* lock of those who start a broker; if it exists, the state was moved */

/*
 * Opens the folder, and moves what earlier versions kept elsewhere into it. Call it only while no broker of an earlier
 * version listens: that would make its state at the old place again. Returns a descriptor that the caller closes, or
 * -1. The function is in this header as programs of job/ use it without the broker's library.
 */
static inline int hm_damon_folder_open(const char *run_dir, struct hm_error *error)
{
    static const struct hm_rundir_old old[] = {
        {HM_DAMON_STATE, HM_DAMON_STATE}, {HM_DAMON_START, HM_DAMON_START}, {NULL, NULL}};
    return hm_rundir_open_node(run_dir, old, error);
}

#endif
