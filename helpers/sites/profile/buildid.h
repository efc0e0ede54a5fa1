/* SPDX-License-Identifier: Apache-2.0 */
/* The build-id of an ELF file: what the linker has made of the file's content, so that each build has its own. */
#ifndef HM_SITES_BUILDID_H
#define HM_SITES_BUILDID_H

#include <stddef.h>

#include "base/error.h"

#define HM_BUILDID_MOST 20                        /* bytes; what is longer is cut */
#define HM_BUILDID_TEXT (2 * HM_BUILDID_MOST + 1) /* with its end */

/*
 * Finds the build-id in ELF notes, as a note segment has them. Copies it to `id`, and returns its length in bytes; 0:
 * there is none. Calls no malloc. Pure.
 */
size_t hm_buildid_in_notes(const void *notes, size_t length, unsigned char id[HM_BUILDID_MOST]);

/* Writes hexadecimal digits. Pure. */
void hm_buildid_text(const unsigned char *id, size_t length, char text[HM_BUILDID_TEXT]);

/* Looks for the build-id of the open file `fd`, which stays the caller's; "": it has none. Returns 0, or -1 with errno
 * (ENOEXEC: it is no ELF file of this machine). */
int hm_buildid_read(int fd, char text[HM_BUILDID_TEXT]);
/* The same of a file that is not open. Returns 0, or -1 with errno and a text. */
int hm_buildid_look(const char *path, char text[HM_BUILDID_TEXT], struct hm_error *error);
/* The build-id of a file. Returns 0, or -1 with a text (ENODATA: it has none). */
int hm_buildid_of_file(const char *path, char text[HM_BUILDID_TEXT], struct hm_error *error);

#endif
