/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings the slow tier online on a node that keeps its persistent memory as devdax. The prolog of the first job that
 * asks for the slow tier does so; the tier stays online. It must be online before a step starts, as a step takes the
 * memory nodes that there are then.
 */
#ifndef HM_JOB_NAMESPACES_SLOWRAM_H
#define HM_JOB_NAMESPACES_SLOWRAM_H

#include "core/config/config.h"

/*
 * Runs hybridmem-namespace to bring all of the slow tier online in the configured zone. Returns at once where it is
 * online already, or where the node has no devdax namespace. The clock of hybridmem-job stands still meanwhile
 * (hooklimit.h). Returns 0, or -1 with a text; what could not be brought online is put back as far as the kernel
 * allows.
 */
int hm_slowram_online(const struct hm_config *config, struct hm_error *error);

#endif
