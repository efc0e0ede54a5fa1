/* SPDX-License-Identifier: Apache-2.0 */
#include "line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"

/* Take the next word, terminated. Returns NULL where there is none, or an empty one. */
static char *take_word(char **rest)
{
    char *word = *rest;
    if (!word || !*word || *word == ' ')
        return NULL;
    char *space = strchr(word, ' ');
    if (space)
        *space = '\0';
    *rest = space ? space + 1 : NULL;
    return word;
}

static int take_number(char **rest, uint64_t most, uint64_t *number)
{
    const char *word = take_word(rest);
    return word ? hm_size_parse_number(word, 0, most, number, NULL) : -1;
}

/* Take the rest of the line, at least one byte, printable. A rest that is too long is cut where `cut` is true, else
 * refused. */
static int take_rest(char **rest, char *out, size_t size, bool cut)
{
    if (!*rest || !**rest)
        return -1;
    for (const char *byte = *rest; *byte; byte++)
        if ((unsigned char)*byte < 0x20 || *byte == 0x7f)
            return -1;
    bool fits = (size_t)snprintf(out, size, "%s", *rest) < size;
    *rest = NULL;
    return fits || cut ? 0 : -1;
}

static int take_version(char **rest, struct hm_papi_line *line)
{
    const char *version = take_word(rest);
    return version && strcmp(version, HM_PAPI_LINES) == 0 ? take_rest(rest, line->name, sizeof(line->name), false) : -1;
}

static int take_component(char **rest, struct hm_papi_line *line)
{
    const char *name = take_word(rest), *word = take_word(rest);
    if (!name || !word || strlen(name) >= sizeof(line->name))
        return -1;
    memcpy(line->name, name, strlen(name) + 1);
    line->is_in = strcmp(word, "in") == 0;
    if (line->is_in)
        return 0;
    return strcmp(word, "out") == 0 ? take_rest(rest, line->text, sizeof(line->text), true) : -1;
}

static int take_event(char **rest, struct hm_papi_line *line)
{
    struct hm_papi_event *event = &line->event;
    uint64_t index, socket;
    const char *word;
    if (take_number(rest, HM_PAPI_MOST_EVENTS - 1, &index) != 0 || !(word = take_word(rest)) ||
        hm_papi_measure_parse(word, &event->measure) != 0 || !(word = take_word(rest)) ||
        (strcmp(word, "-") != 0 && hm_kind_parse(word, &event->kind) != 0) || !(word = take_word(rest)))
        return -1;
    event->socket = -1;
    if (strcmp(word, "-") != 0) {
        if (hm_size_parse_number(word, 0, HM_SET_BITS - 1, &socket, NULL) != 0)
            return -1;
        event->socket = (int)socket;
    }
    line->number = (unsigned)index;
    if (!(word = take_word(rest)) || hm_papi_unit_parse(word, &event->unit) != 0)
        return -1;
    return take_number(rest, UINT64_MAX, &event->modulus) == 0
               ? take_rest(rest, event->name, sizeof(event->name), false)
               : -1;
}

static int take_ready(char **rest, struct hm_papi_line *line)
{
    uint64_t n;
    if (take_number(rest, HM_PAPI_MOST_EVENTS, &n) != 0)
        return -1;
    line->number = (unsigned)n;
    return 0;
}

static int take_read(char **rest, struct hm_papi_line *line)
{
    const char *word;
    uint64_t time_ns; /* for people and scripts that read the lines */
    if (take_number(rest, UINT64_MAX, &time_ns) != 0)
        return -1;
    while (*rest) {
        unsigned i = line->number;
        if (i == HM_PAPI_MOST_EVENTS || !(word = take_word(rest)))
            return -1;
        line->is_known[i] = strcmp(word, "-") != 0;
        if (line->is_known[i] && hm_size_parse_number(word, 0, UINT64_MAX, &line->value[i], NULL) != 0)
            return -1;
        line->number++;
    }
    return 0;
}

static int take_error(char **rest, struct hm_papi_line *line)
{
    return take_rest(rest, line->text, sizeof(line->text), true);
}

static const struct {
    const char *word;
    int (*take)(char **rest, struct hm_papi_line *line);
} types[] = {
    [HM_PAPI_LINE_PAPI] = {"papi", take_version},
    [HM_PAPI_LINE_SLURM] = {"slurm", take_version},
    [HM_PAPI_LINE_COMPONENT] = {"component", take_component},
    [HM_PAPI_LINE_EVENT] = {"event", take_event},
    [HM_PAPI_LINE_READY] = {"ready", take_ready},
    [HM_PAPI_LINE_READ] = {"read", take_read},
    [HM_PAPI_LINE_ERROR] = {"error", take_error},
};

int hm_papi_line_parse(char *line, struct hm_papi_line *out, struct hm_error *error)
{
    char *rest = line;
    const char *word = take_word(&rest);
    *out = (struct hm_papi_line){0};
    for (size_t i = 0; word && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(word, types[i].word) != 0)
            continue;
        out->type = (enum hm_papi_line_type)i;
        if (types[i].take(&rest, out) == 0 && !rest)
            return 0;
        return hm_fail(error, EBADMSG, "a line \"%s\" that is not valid", types[i].word);
    }
    return hm_fail(error, EBADMSG, "a line that is not valid");
}

int hm_papi_line_event(unsigned index, const struct hm_papi_event *event, char *out, size_t size)
{
    char socket[16] = "-";
    if (event->socket >= 0)
        snprintf(socket, sizeof(socket), "%d", event->socket);
    int length =
        snprintf(out, size, "event %u %s %s %s %s %" PRIu64 " %s\n", index, hm_papi_measure_name(event->measure),
                 event->kind == HM_KIND_UNKNOWN ? "-" : hm_kind_name(event->kind), socket,
                 hm_papi_unit_name(event->unit), event->modulus, event->name);
    return length > 0 && (size_t)length < size ? length : -1;
}

int hm_papi_line_read(uint64_t time_ns, const uint64_t *value, const bool *is_known, unsigned n, char *out, size_t size)
{
    int length = snprintf(out, size, "read %" PRIu64, time_ns);
    for (unsigned i = 0; i < n; i++) {
        size_t room = size - (size_t)length;
        length +=
            is_known[i] ? snprintf(out + length, room, " %" PRIu64, value[i]) : snprintf(out + length, room, " -");
    }
    length += snprintf(out + length, size - (size_t)length, "\n");
    return length;
}
