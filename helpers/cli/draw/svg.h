/* SPDX-License-Identifier: Apache-2.0 */
/* What all pictures share. */
#ifndef HM_CLI_DRAW_SVG_H
#define HM_CLI_DRAW_SVG_H

#include <stdio.h>

#include "base/error.h"

/* Styles of text, the page and lines, for light and dark pages; more styles of each may follow. Both are rules for
 * <style>. */
extern const char hm_svg_on_light[], hm_svg_on_dark[];

void hm_svg_put_start(FILE *out, unsigned width, unsigned height);

/* Texts are of printable ASCII; what XML wants escaped is. */
void hm_svg_put_text(FILE *out, const char *text);

/* Is it the name of a file, not of a folder? Returns 0, or -1 (EINVAL) with a text. */
int hm_svg_check_path(const char *path, struct hm_error *error);

/* Draw into a file that is there in full or not at all: links are followed. What is there and is no regular file (a
 * pipe, a device) is written into, and stays what it is. Returns 0, or -1 with the errno of the file system and a text
 * that starts with --plot. */
int hm_svg_write(const char *path, void (*draw)(FILE *out, const void *picture), const void *picture,
                 struct hm_error *error);

#endif
