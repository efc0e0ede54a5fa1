/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets' fsdax file systems (HYBRIDMEM_FSDAX_DIRS), and the unlinked files there that an allocation maps. */
#ifndef HM_ALLOC_FOLDERS_H
#define HM_ALLOC_FOLDERS_H

#include "hybridmem.h"

#define HM_FOLDERS 32

/* One allocation's files, by folder. */
struct hm_folders {
    int n;
    int fd[HM_FOLDERS]; /* -1: cannot be used */
    uint64_t room_bytes[HM_FOLDERS];
};

/*
 * Open a file without a name in each folder of `list` (colon-separated, each with or without its socket's number as in
 * "0=/path"; NULL or "": none). A folder that is not on a
 * DAX file system, or cannot be written to, has no room; `reason` (HM_ALLOC_REASON bytes) says so. With none that can
 * be used there are none. Close with hm_folders_close, also after the files are mapped.
 */
void hm_folders_open(struct hm_folders *folders, const char *list, char *reason);
void hm_folders_close(struct hm_folders *folders);

/*
 * Give the files the space that the runs want of them, at once: a page that finds no space later would kill the
 * process. Returns 0, or -1 where a folder has it not: its room is 0 then, and `reason` says so.
 */
int hm_folders_reserve(struct hm_folders *folders, const struct hm_alloc_run *run, size_t n_runs, char *reason);

/* Map the runs that are in files over `data`, shared. A run that cannot be mapped stays plain memory: its folder
 * becomes -1, and `reason` says so. */
void hm_folders_map(struct hm_folders *folders, char *data, struct hm_alloc_run *run, size_t n_runs, char *reason);

#endif
