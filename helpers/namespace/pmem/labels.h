/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a region without labels some, through libndctl, so that it can be divided. */
#ifndef HM_NAMESPACE_PMEM_LABELS_H
#define HM_NAMESPACE_PMEM_LABELS_H

#include "parts.h"

/* Does anything in the region look like data? A region without labels is one namespace as a whole. Returns 0, or -1
 * with a text that names what is there: EBUSY (it is in use, or divided), EEXIST (a file system or the like). */
int hm_labels_hinder(struct ndctl_region *region, struct hm_error *error);

/* Write the names of the region's modules, "nmem0,nmem1", cut where there is no room, and return `out`. */
char *hm_labels_modules(struct ndctl_region *region, char *out, size_t size);

/* Initialise the label areas of the region's modules that have none. What is in the region is lost. Looks again for
 * what hinders. The region is disabled meanwhile, and enabled in the end, also after an error. Returns 0, or -1. */
int hm_labels_write(struct ndctl_region *region, struct hm_error *error);

#endif
