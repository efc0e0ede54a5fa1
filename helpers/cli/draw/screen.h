/* SPDX-License-Identifier: Apache-2.0 */
/* A screen of text that is written again and again, as `watch` does; no library is needed. */
#ifndef HM_CLI_DRAW_SCREEN_H
#define HM_CLI_DRAW_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct hm_screen {
    unsigned columns, lines; /* of the terminal */
    bool is_utf8;            /* block characters can be shown; else only ASCII */
    bool has_colour;
};

/*
 * The size and abilities of standard output, by the current locale and terminal. If it is no terminal, or a tiny one,
 * its size is 100 columns and 50 lines.
 */
struct hm_screen hm_screen_measure(void);

/* Clears the screen and starts at its top. */
void hm_screen_clear(FILE *out);

/* Writes a line of ASCII, cut at the screen's edge. */
void hm_screen_put_line(FILE *out, const struct hm_screen *screen, const char *text);

#endif
