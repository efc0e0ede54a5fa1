/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slow tier of a node that keeps its persistent memory as devdax: brought online for the first job that asks for
 * it, and left so. Part of the prolog: steps take their memory nodes later.
 */
#ifndef HM_JOB_NAMESPACES_SLOWRAM_H
#define HM_JOB_NAMESPACES_SLOWRAM_H

#include "core/config/config.h"

/*
 * Bring all of it online in the configured zone, by hybridmem-namespace, which is done at once where it is so already.
 * A node without a devdax namespace has nothing to bring: 0. A pending alarm(2) is put off meanwhile. Returns 0, or -1
 * with a text: what could not be brought online is as it was.
 */
int hm_slowram_online(const struct hm_config *config, struct hm_error *error);

#endif
