/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The topology as found once per boot: <run folder>/topology, root-owned 0644, text that other versions of hybridmem
 * read, too (base/fields.h). Reading it needs no hwloc, so the plugin can.
 */
#ifndef HM_CORE_TOPOLOGY_CACHE_H
#define HM_CORE_TOPOLOGY_CACHE_H

#include "topology.h"

/* Write `topology` with this boot's id: temporary file, then rename. Returns 0 or -1. */
int hm_tierscache_write(const char *path, const struct hm_topology *topology, struct hm_error *error);

/*
 * Read it back. Fails with ENOENT (none), ESTALE (another boot, or the set of online nodes with memory changed since),
 * EPERM (not root-owned, or others may write it), EBADMSG (torn; values out of range).
 */
int hm_tierscache_read(const char *path, struct hm_topology *topology, struct hm_error *error);

#endif
