/* SPDX-License-Identifier: Apache-2.0 */
#include "multiprog.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files.h"

bool hm_multiprog_is(char *const *words)
{
    size_t length;
    if (!words[0] || !words[1])
        return false;
    int fd = open(words[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char *text = fd < 0 ? NULL : hm_file_read_whole(fd, strlen(words[1]), &length); /* a longer file is another one */
    bool is_same = text && strcmp(text, words[1]) == 0;
    free(text);
    if (fd >= 0)
        close(fd);
    return is_same;
}

static bool is_blank(char byte)
{
    return isspace((unsigned char)byte);
}

/* Reads a number, at most UINT32_MAX. Returns where it ends; NULL: there is none. */
static const char *read_number(const char *at, const char *end, uint64_t *number)
{
    const char *start = at;
    for (*number = 0; at < end && isdigit((unsigned char)*at); at++) {
        *number = *number * 10 + (uint64_t)(*at - '0');
        *number = *number < UINT32_MAX ? *number : UINT32_MAX;
    }
    return at > start ? at : NULL;
}

/* Is the task in a list such as "0-3,7", or "*"? `offset`: how many tasks of the list are before it. What is no range
 * is passed over, as Slurm does. */
static bool has_task(const char *at, const char *end, uint32_t task, uint64_t *offset)
{
    if (end - at == 1 && *at == '*') {
        *offset = task;
        return true;
    }
    *offset = 0;
    while (at < end) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        uint64_t first, last;
        const char *next = read_number(at, stop, &first);
        last = first;
        if (next && next < stop && *next == '-')
            next = read_number(next + 1, stop, &last);
        bool is_range = next == stop && first <= last;
        if (is_range && task >= first && task <= last) {
            *offset += task - first;
            return true;
        }
        *offset += is_range ? last - first + 1 : 0;
        at = stop + 1;
    }
    return false;
}

/* Reads one word: quotes and backslashes are Slurm's, %t is the task's number, and %o the one that it has in its list.
 * Returns as hm_multiprog_find does. */
static int read_word(const char *at, uint32_t task, uint64_t offset, char *word, size_t size)
{
    bool is_quoted = false;
    size_t used = 0;
    word[0] = '\0';
    for (; *at && *at != '\n' && (is_quoted || !is_blank(*at)); at++) {
        char piece[24] = {*at, '\0'};
        if (*at == '\'') {
            is_quoted = !is_quoted;
            continue;
        }
        if (!is_quoted && *at == '\\') {
            at++;
            piece[0] = *at == '\n' ? '\0' : *at; /* at its end it continues a line */
        } else if (!is_quoted && *at == '%') {
            at++;
            piece[0] = '\0';
            if (*at == 't' || *at == 'o')
                snprintf(piece, sizeof(piece), "%" PRIu64, *at == 't' ? task : offset);
            else if (*at == '\n')
                break;
        }
        if (*at == '\0')
            break;
        if (used + strlen(piece) >= size)
            return hm_fail(NULL, ENAMETOOLONG, "the name of a program is too long");
        memcpy(word + used, piece, strlen(piece) + 1);
        used += strlen(piece);
    }
    return word[0] && !is_quoted ? 0 : hm_fail(NULL, ENOENT, "no program");
}

int hm_multiprog_find(const char *text, uint32_t task, char *program, size_t size)
{
    bool is_continued = false; /* the line before ends in a backslash */
    for (const char *line = text; *line; line += *line == '\n') {
        const char *at = line, *end = line + strcspn(line, "\n"), *list;
        bool is_rest = is_continued;
        uint64_t offset;
        line = end;
        if (at == end)
            continue;
        is_continued = end[-1] == '\\';
        while (at < end && is_blank(*at))
            at++;
        if (is_rest || at == end || *at == '#')
            continue;
        for (list = at; at < end && !is_blank(*at);)
            at++;
        if (at == end)
            break;
        if (!has_task(list, at, task, &offset))
            continue;
        while (at < end && is_blank(*at))
            at++;
        return read_word(at, task, offset, program, size);
    }
    return hm_fail(NULL, ENOENT, "no program for task %u", task);
}
