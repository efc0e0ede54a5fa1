/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a command's figures. All are drawn by hybridmem-picture, a Python program. */
#ifndef HM_CLI_DRAW_PICTURE_H
#define HM_CLI_DRAW_PICTURE_H

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"

/*
 * Checks that `path` can be the name of the picture: it must not be empty, nor end in "/" or in the suffix of another
 * kind of picture (".png"). "-" is standard output. Returns 0, or -1 (EINVAL) with a text.
 */
int hm_picture_check_path(const char *path, struct hm_error *error);

/* Chooses where the command's figures go: stdout, or stderr where the picture has stdout for itself. `path` is NULL
 * where there is no picture. */
FILE *hm_picture_choose_output(const char *path);

/*
 * Draws the picture of `command` ("replay", "bench"), or the page of "sites", into the file `path`, which `option`
 * ("--plot") names. `figures` is the object that the command's
 * --json prints. This process becomes the program that draws, so flush standard output before the call. Returns only on
 * failure: -1 with a text that starts with the option.
 */
int hm_picture_draw(const char *command, const char *option, const char *path, const json_t *figures,
                    struct hm_error *error);

#endif
