/* SPDX-License-Identifier: Apache-2.0 */
/* A file that a user has named for a program's result. It is there when it is whole; before that, whatever has its name
 * stays. */
#ifndef HM_BASE_NEWFILE_H
#define HM_BASE_NEWFILE_H

#include <sys/types.h>

#include "error.h"

struct hm_newfile {
    char *path;      /* no symbolic link */
    char *temporary; /* the file that gets this name in the end; NULL: nothing is to be removed */
    mode_t mode;
    uid_t uid; /* of the file that is replaced, where root replaces it: it stays its owner's */
    gid_t gid;
    int fd; /* of the temporary file, to be written; -1: there is none */
};

/*
 * Makes the temporary file, in the folder of the file: so one that cannot be written is known at once. A link is
 * followed, also one to a file that is missing. `example` is a name for an error text. Returns 0, or -1 with a text
 * that begins with the path: EINVAL (no regular file); EACCES also where a link or file in a sticky folder that others
 * can write to is neither the caller's nor the folder owner's; or the errno of the file system. hm_newfile_close has to
 * follow, whatever is returned.
 */
int hm_newfile_open(struct hm_newfile *file, const char *path, const char *example, struct hm_error *error);
/* Puts the file in its place. Returns 0, or -1 with errno. */
int hm_newfile_place(struct hm_newfile *file);
/* Frees all, and removes the temporary file where it was not put in its place. */
void hm_newfile_close(struct hm_newfile *file);

#endif
