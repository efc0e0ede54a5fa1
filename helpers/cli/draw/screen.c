/* SPDX-License-Identifier: Apache-2.0 */
#include "screen.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

struct hm_screen hm_screen_measure(void)
{
    struct hm_screen screen = {.columns = 100, .lines = 50, .is_utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0};
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 && size.ws_row > 6) {
        screen.columns = size.ws_col;
        screen.lines = size.ws_row;
    }
    screen.has_colour = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    return screen;
}

void hm_screen_clear(FILE *out)
{
    fputs("\033[H\033[2J", out);
}

void hm_screen_put_line(FILE *out, const struct hm_screen *screen, const char *text)
{
    fprintf(out, "%.*s\n", (int)screen->columns, text);
}
