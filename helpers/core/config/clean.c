/* SPDX-License-Identifier: Apache-2.0 */
#include "clean.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* May this character stand outside of strings? Words, paths and the signs of the grammar may; anything else must be in
 * quotes. */
static bool is_plain(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr(" \t\n_./%-={},", byte));
}

static bool is_quotable(char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '\\' && byte != '$';
}

/* Find the closing quote. Returns its index, or -1 with the reason. */
static long find_end_of_string(const char *text, size_t length, size_t start, struct hm_error *error)
{
    for (size_t at = start + 1; at < length; at++) {
        if (text[at] == text[start])
            return (long)at;
        if (text[at] == '\n')
            break;
        if (text[at] == '$' || text[at] == '\\')
            return hm_fail(error, EINVAL,
                           "'%c' has no place in a value: the environment is not read, and there are no escapes",
                           text[at]);
        if (!is_quotable(text[at]))
            return hm_fail(error, EINVAL, "the value has a byte 0x%02x: write values in printable ASCII",
                           (unsigned char)text[at]);
    }
    return hm_fail(error, EINVAL, "the string that starts with %.20s is not closed on its line", text + start);
}

/* The current position in the text. */
struct place {
    int line;
    char last[2];  /* the last two characters that are not blank */
    int depth;     /* open braces */
    int line_open; /* line of the outermost open brace */
};

/* Check one character outside strings and comments. */
static int check_plain(const char *text, size_t at, struct place *place, struct hm_error *error)
{
    if (text[at] == '/' && text[at + 1] == '/')
        return hm_fail(error, EINVAL, "\"//\" has no place here: comments start with #");
    if (text[at] == '}' && place->last[1] == '{' && place->last[0] == '=')
        return hm_fail(error, EINVAL, "the list { } is empty: name at least one");
    if (!is_plain(text[at]))
        return hm_fail(
            error, EINVAL,
            "'%c' (0x%02x) has no place here: comments start with #, values that are not plain words stand in quotes",
            text[at] >= ' ' ? text[at] : '?', (unsigned char)text[at]);
    if (text[at] == '{' && place->depth++ == 0)
        place->line_open = place->line;
    if (text[at] == '}')
        place->depth--;
    return 0;
}

int hm_configclean(char *text, size_t length, struct hm_error *error)
{
    struct place place = {.line = 1};
    text[length] = '\0';
    for (size_t at = 0; at < length; at++) {
        if (text[at] == '#')
            while (at < length && text[at] != '\n')
                text[at++] = ' ';
        if (at == length)
            break;
        if (text[at] == '"' || text[at] == '\'') {
            long end = find_end_of_string(text, length, at, error);
            if (end < 0)
                return place.line;
            at = (size_t)end;
        } else if (check_plain(text, at, &place, error) < 0) {
            return place.line;
        }
        if (text[at] == '\n')
            place.line++;
        if (!strchr(" \t\n", text[at])) {
            place.last[0] = place.last[1];
            place.last[1] = text[at];
        }
    }
    if (place.depth > 0) {
        hm_fail(error, EINVAL, "the { of this line is not closed: end it with }");
        return place.line_open;
    }
    return 0;
}
