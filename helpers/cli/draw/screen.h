/* SPDX-License-Identifier: Apache-2.0 */
/* A screen of text that is written anew, as `watch` does it: no library is needed for that. */
#ifndef HM_CLI_DRAW_SCREEN_H
#define HM_CLI_DRAW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct hm_screen {
    unsigned columns, lines; /* of the terminal */
    bool is_utf8;            /* block characters, else ASCII */
    bool has_colour;
};

/* The screen that standard output is, by the locale and the terminal of now; 100 columns and 50 lines where it is none.
 */
struct hm_screen hm_screen_measure(void);

/* Begin anew at the top of an empty screen. */
void hm_screen_clear(FILE *out);

/* Write a line of ASCII that stops at the screen's edge. */
void hm_screen_put_line(FILE *out, const struct hm_screen *screen, const char *text);

#endif
