/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of the topology that was found for this boot: the file <run folder>/topology, owned by root with mode 0644,
 * in a format that other versions of hybridmem can read (base/fields.h). Reading it needs no hwloc, so the plugin can
 * do it.
 */
#ifndef HM_CORE_TOPOLOGY_CACHE_H
#define HM_CORE_TOPOLOGY_CACHE_H

#include "topology.h"

/* Write `topology` with the id of this boot to the run folder, as a draft that is then renamed. Then remove drafts of
 * processes that were killed. Returns 0 or -1. */
int hm_topologycache_write(const char *run_dir, const struct hm_topology *topology, struct hm_error *error);

/* Read the cache of the run folder. Returns 0, or -1: ENOENT (there is none, or /proc is not mounted), ESTALE (from
 * another boot, or other nodes have memory now), EPERM (not a regular file, not owned by root or the caller, or others
 * may write it; for root, also where its path is not trusted: hm_path_open), EBADMSG (torn, of an unknown version, too
 * large, or values out of range), or the errno of a call that failed. */
int hm_topologycache_read(const char *run_dir, struct hm_topology *topology, struct hm_error *error);

/* The same, but also where more nodes have memory now: for jobs, between the moment when memory comes online and the
 * one when the node's new topology is written. */
int hm_topologycache_read_older(const char *run_dir, struct hm_topology *topology, struct hm_error *error);

#endif
