/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets aside the kernel's policy for new memory, auto_online_blocks, while a device becomes memory. Unless the policy
 * is "offline", the kernel puts new blocks online at once, in a zone of its choice, where its own pages may settle and
 * then cannot be moved away. The policy is put back afterwards. If a process was killed meanwhile, the next one, or a
 * reap, puts it back.
 */
#ifndef HM_NAMESPACE_RAM_AUTOONLINE_H
#define HM_NAMESPACE_RAM_AUTOONLINE_H

#include <stdbool.h>
#include <unistd.h>

#include "core/config/config.h"
#include "namespace/pmem/folder.h"

/* Set the policy to "offline". `system` is HM_BLOCKS_SYSTEM (blocks.h). The caller has the lock of namespaces
 * (pmem/lock.h). Returns 0 (then call hm_autoonline_release) or -1. */
int hm_autoonline_hold(const char *system, const struct hm_config *config, struct hm_error *error);

/* Is a policy set aside, perhaps by a process that was killed? The function is in this header as programs of job/ call
 * it, which are also built where this folder is not (without libndctl). */
static inline bool hm_autoonline_is_aside(const struct hm_config *config)
{
    int folder = hm_namespace_folder_open(config->run_dir, NULL);
    bool is_aside = folder >= 0 && hm_rundir_has(folder, HM_AUTOONLINE_KEPT);
    if (folder >= 0)
        close(folder);
    return is_aside;
}

/* Put back the policy that was set aside, also by another process. Does nothing where none was. Returns 0 or -1. */
int hm_autoonline_release(const char *system, const struct hm_config *config, struct hm_error *error);

#endif
