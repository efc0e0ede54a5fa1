/* SPDX-License-Identifier: Apache-2.0 */
/* The folder in which hybridmem-namespace keeps its files, <run_dir>/root/node (base/rundir.h). */
#ifndef HM_NAMESPACE_PMEM_FOLDER_H
#define HM_NAMESPACE_PMEM_FOLDER_H

#include "base/rundir.h"
#include "namespace/mount/firstmount.h"

#define HM_NAMESPACE_LOCK "namespace.lock"
#define HM_NAMESPACE_WIPED "wiped"              /* progress of wipes (wiped.h) */
#define HM_AUTOONLINE_KEPT "auto_online_blocks" /* the kernel's policy while it is set aside (ram/autoonline.h) */

/* Opens the folder. Returns a descriptor that the caller closes, or -1. The function is inline, as programs of job/ use
 * it without this folder's library. */
static inline int hm_namespace_folder_open(const char *run_dir, struct hm_error *error)
{
    static const struct hm_rundir_old old[] = {{HM_AUTOONLINE_KEPT, HM_AUTOONLINE_KEPT},
                                               {HM_MOUNT_TRIALS, HM_MOUNT_TRIALS},
                                               {HM_NAMESPACE_WIPED, HM_NAMESPACE_WIPED},
                                               {HM_NAMESPACE_LOCK, HM_NAMESPACE_LOCK},
                                               {NULL, NULL}};
    return hm_rundir_open_node(run_dir, old, error);
}

#endif
