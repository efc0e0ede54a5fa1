/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders of recordings by allocation site, in places that all users share. Who records holds a lock of the folder
 * while it lives, so that others can tell what one that was killed has left, and remove it.
 */
#ifndef HM_BASE_HELDFOLDER_H
#define HM_BASE_HELDFOLDER_H

#define HM_HELDFOLDER_FORM "hybridmem-sites.XXXXXX" /* for mkdtemp */

/* Opens a folder that is no link, below the folder `at`. Returns a descriptor, or -1 with errno. */
int hm_heldfolder_open(int at, const char *path);
/* Removes the folder's files, but those whose names begin with a dot. */
void hm_heldfolder_empty(int fd);
/* Removes the folders of that form in `place` that are the caller's and that nobody holds. A place that cannot be read
 * has none. */
void hm_heldfolder_sweep(const char *place);

#endif
