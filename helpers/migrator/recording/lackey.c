/* SPDX-License-Identifier: Apache-2.0 */
#include "lackey.h"

#include <string.h>

#define MARK 3     /* characters before the address: " L " and the like */
#define ADDRESS 16 /* most digits */
#define SIZE_DIGITS 3

static const struct {
    char mark[MARK + 1];
    enum hm_lackey_kind kind;
} accesses[] = {{"I  ", HM_LACKEY_FETCH}, {" L ", HM_LACKEY_LOAD}, {" S ", HM_LACKEY_STORE}, {" M ", HM_LACKEY_MODIFY}};

/* How messages begin; the first that fits counts. */
static const struct {
    const char *beginning;
    enum hm_lackey_kind kind;
    bool is_shown; /* the beginning belongs to the text */
} messages[] = {{"Lackey, ", HM_LACKEY_IMAGE, true},
                {"Command: ", HM_LACKEY_COMMAND, false},
                {"valgrind: ", HM_LACKEY_TROUBLE, false},
                {"", HM_LACKEY_MESSAGE, true}};

static unsigned digit_of(char c)
{
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 99;
}

/* Reads 1 to `most` digits. Returns where they end, or NULL. */
static const char *read_number(const char *at, const char *end, unsigned base, size_t most, uint64_t *number)
{
    const char *start = at;
    for (*number = 0; at < end && digit_of(*at) < base; at++)
        *number = *number * base + digit_of(*at);
    return at > start && (size_t)(at - start) <= most ? at : NULL;
}

/* Parses "ADDRESS,SIZE". */
static bool parse_access(const char *at, const char *end, struct hm_lackey_line *parsed)
{
    uint64_t size;
    at = read_number(at, end, 16, ADDRESS, &parsed->address);
    if (!at || at == end || *at != ',')
        return false;
    at = read_number(at + 1, end, 10, SIZE_DIGITS, &size);
    if (at != end || size == 0 || size > HM_LACKEY_BYTES || parsed->address + (size - 1) < parsed->address)
        return false;
    parsed->size = (unsigned)size;
    return true;
}

/* Where the text of a message "==PID== TEXT" begins; NULL: it is none. The marks are == or, by the kind of the message,
 * -- or **. */
static const char *find_text(const char *at, const char *end)
{
    uint64_t pid;
    char mark = at < end ? *at : '\0';
    if (end - at < 2 || !strchr("=-*", mark) || at[1] != mark)
        return NULL;
    at = read_number(at + 2, end, 10, 10, &pid);
    if (!at || end - at < 2 || at[0] != mark || at[1] != mark)
        return NULL;
    at += 2;
    return at < end && *at == ' ' ? at + 1 : at;
}

void hm_lackey_parse(const char *line, size_t length, struct hm_lackey_line *parsed)
{
    const char *end = line + length;
    *parsed = (struct hm_lackey_line){.kind = length > 0 ? HM_LACKEY_UNKNOWN : HM_LACKEY_MESSAGE};
    parsed->text = line;
    parsed->length = length;
    for (size_t i = 0; i < sizeof(accesses) / sizeof(accesses[0]) && length > MARK; i++) {
        if (memcmp(line, accesses[i].mark, MARK) != 0)
            continue;
        if (parse_access(line + MARK, end, parsed))
            parsed->kind = accesses[i].kind;
        return;
    }
    const char *text = find_text(line, end);
    for (size_t i = 0; text && parsed->kind == HM_LACKEY_UNKNOWN; i++) {
        size_t beginning = strlen(messages[i].beginning);
        if ((size_t)(end - text) < beginning || memcmp(text, messages[i].beginning, beginning) != 0)
            continue;
        parsed->kind = messages[i].kind;
        parsed->text = text + (messages[i].is_shown ? 0 : beginning);
        parsed->length = (size_t)(end - parsed->text);
    }
}

/* Keeps the beginning of a line, up to HM_LACKEY_LINE bytes of it. */
static void keep(struct hm_lackey_stream *stream, const char *text, size_t length)
{
    size_t room = sizeof(stream->part) - stream->length;
    length = length < room ? length : room;
    memcpy(stream->part + stream->length, text, length);
    stream->length += length;
}

void hm_lackey_feed(struct hm_lackey_stream *stream, const char *text, size_t length, hm_lackey_take *take, void *data)
{
    const char *end = text + length;
    while (text < end) {
        struct hm_lackey_line line;
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t here = (size_t)((newline ? newline : end) - text);
        if (stream->length > 0 || !newline || here > HM_LACKEY_LINE)
            keep(stream, text, here);
        if (!newline)
            return;
        if (stream->length > 0)
            hm_lackey_parse(stream->part, stream->length, &line);
        else
            hm_lackey_parse(text, here, &line);
        take(data, &line);
        stream->length = 0;
        text = newline + 1;
    }
}
