/* SPDX-License-Identifier: Apache-2.0 */
/* Shows a migrator's view as a screen of text, or as JSON. Pure except for the stream. */
#ifndef HM_CLI_TOP_PRINT_H
#define HM_CLI_TOP_PRINT_H

#include <stdio.h>

#include "cli/draw/screen.h"
#include "migrator/figures/view.h"

/* Writes a screen of at most screen->lines lines (7 or more) with at most screen->columns characters (20 or more). */
void hm_topprint_screen(FILE *out, const struct hm_view *view, const char *host, const struct hm_screen *screen);

/* Writes one JSON object and a newline. Returns 0, or -1 (ENOMEM, or the stream's error). */
int hm_topprint_json(FILE *out, const struct hm_view *view, const char *host);

#endif
