/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells whether the kernel waits, before it frees a file of a DAX file system, until nobody refers to the file's pages
 * any more. Since Linux 6.15 it does (dax_break_layout_final in fs/dax.c). Before, a reference outlives the file
 * system: a user who has spliced such a page into a pipe, or reads into it asynchronously, can read and change what the
 * next job writes there.
 */
#ifndef HM_NAMESPACE_PMEM_DAXKERNEL_H
#define HM_NAMESPACE_PMEM_DAXKERNEL_H

#include "core/config/config.h"

/*
 * Tell whether this kernel waits. `release` is uname(2)'s, as in "6.12.5-amd64". An older kernel may have the change as
 * a patch, so `symbols` is looked at then: a file as /proc/kallsyms. Returns 1, 0, or -1 where it cannot be read.
 */
int hm_dax_kernel_waits(const char *release, const char *symbols, struct hm_error *error);

/* Refuse (EOPNOTSUPP) unless the kernel is known to wait, or the site says that its users trust each other. Returns 0
 * or -1. */
int hm_dax_kernel_check(const struct hm_config *config, struct hm_error *error);

#endif
