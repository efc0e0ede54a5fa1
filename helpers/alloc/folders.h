/* SPDX-License-Identifier: Apache-2.0 */
/* The file systems on persistent memory, one for each socket (HYBRIDMEM_FSDAX_DIRS), and the unlinked files in them
 * that an allocation maps. */
#ifndef HM_ALLOC_FOLDERS_H
#define HM_ALLOC_FOLDERS_H

#include "hybridmem.h"

#define HM_FOLDERS 32

/* The files of one allocation, one in each folder. */
struct hm_folders {
    int n;
    int fd[HM_FOLDERS];     /* -1: the folder cannot be used */
    int socket[HM_FOLDERS]; /* that the folder's memory is on */
    uint64_t room_bytes[HM_FOLDERS];
};

/*
 * Open a file without a name (O_TMPFILE) in each folder of `list`: paths separated by colons; NULL or "" for none.
 * Paths after the first HM_FOLDERS are ignored. A path may have its socket's number before it, as in "0=/path"; without
 * one, the n-th path (from 0) is taken for socket n's. A folder that cannot be written to, or is not on a DAX file
 * system, gets no room, and `reason` (HM_ALLOC_REASON bytes) says why. Where no folder can be used, `folders->n` is 0.
 * Close with hm_folders_close, also after the files are mapped.
 */
void hm_folders_open(struct hm_folders *folders, const char *list, char *reason);
void hm_folders_close(struct hm_folders *folders);

/* Reserve in the files the space that the runs need. This is done at once, because a page that finds no space later
 * would kill the process. Returns 0, or -1 where a folder has too little, or its file system fails: its room becomes 0,
 * and `reason` says why. */
int hm_folders_reserve(struct hm_folders *folders, const struct hm_alloc_run *run, size_t n_runs, char *reason);

/* Map the files over `data`, shared, for those runs that are in files. A run that cannot be mapped stays in plain
 * memory: its folder becomes -1, and `reason` says so. */
void hm_folders_map(struct hm_folders *folders, char *data, struct hm_alloc_run *run, size_t n_runs, char *reason);

#endif
