/* SPDX-License-Identifier: Apache-2.0 */
#include "text.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/size.h"

#define MOST_WORDS 6
#define LINE 200
#define HOW "write \"channels separate\", \"fast 100GB/s 95ns\" or \"fast idle 80ns peak 200GB/s\""

/* the state while a text is parsed */
struct reader {
    struct hm_load *load;
    bool has_channels;
    char words[LINE]; /* of the line, each ends with a 0 */
    const char *word[MOST_WORDS];
    size_t n;
    struct hm_error error;
};

/* Cuts a line into words. Returns 0, or -1 if it is too long, has too many words or a 0. */
static int cut(struct reader *reader, const char *line, size_t length)
{
    const char *comment = memchr(line, '#', length);
    char *save = NULL;
    length = comment ? (size_t)(comment - line) : length;
    reader->n = 0;
    if (length >= LINE || memchr(line, '\0', length))
        return hm_fail(&reader->error, EBADMSG, "the line is too long, or is no text: " HOW);
    memcpy(reader->words, line, length);
    reader->words[length] = '\0';
    for (char *word = strtok_r(reader->words, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save)) {
        if (reader->n == MOST_WORDS)
            return hm_fail(&reader->error, EBADMSG, "there are too many words: " HOW);
        reader->word[reader->n++] = word;
    }
    return 0;
}

static bool is_word(const struct reader *reader, size_t i, const char *word)
{
    return strcmp(reader->word[i], word) == 0;
}

static int take_channels(struct reader *reader)
{
    bool is_shared = reader->n == 2 && is_word(reader, 1, "shared");
    if (!is_shared && !(reader->n == 2 && is_word(reader, 1, "separate")))
        return hm_fail(&reader->error, EBADMSG, "channels: write \"channels shared\" or \"channels separate\"");
    if (reader->has_channels)
        return hm_fail(&reader->error, EBADMSG, "channels: the line is there twice: leave one out");
    reader->has_channels = true;
    reader->load->channels = is_shared ? HM_CHANNELS_SHARED : HM_CHANNELS_SEPARATE;
    return 0;
}

static int take_curve(struct reader *reader, struct hm_curve *curve)
{
    double traffic, latency;
    if (reader->n == 5 && is_word(reader, 1, "idle") && is_word(reader, 3, "peak")) {
        if (curve->n > 0)
            return hm_fail(&reader->error, EBADMSG,
                           "the tier has points or a peak already: give points, or one line with idle and peak");
        if (hm_size_parse_amount(reader->word[2], "ns", &latency, &reader->error) < 0 ||
            hm_size_parse_amount(reader->word[4], "GB/s", &traffic, &reader->error) < 0)
            return -1;
        return hm_curve_of_peak(curve, latency, traffic, &reader->error);
    }
    if (reader->n != 3 || is_word(reader, 1, "idle"))
        return hm_fail(&reader->error, EBADMSG, "neither a point nor idle and peak: " HOW);
    if (hm_size_parse_amount(reader->word[1], "GB/s", &traffic, &reader->error) < 0 ||
        hm_size_parse_amount(reader->word[2], "ns", &latency, &reader->error) < 0)
        return -1;
    return hm_curve_add(curve, traffic, latency, &reader->error);
}

static int take_line(struct reader *reader, const char *line, size_t length)
{
    if (cut(reader, line, length) < 0)
        return -1;
    if (reader->n == 0)
        return 0;
    if (is_word(reader, 0, "channels"))
        return take_channels(reader);
    if (is_word(reader, 0, "fast"))
        return take_curve(reader, &reader->load->fast);
    if (is_word(reader, 0, "slow"))
        return take_curve(reader, &reader->load->slow);
    return hm_fail(&reader->error, EBADMSG, "\"%.40s\" is not known: " HOW, reader->word[0]);
}

/* Returns what the text lacks, or NULL. */
static const char *lacks(const struct reader *reader)
{
    const struct hm_curve *fast = &reader->load->fast, *slow = &reader->load->slow;
    if (!reader->has_channels)
        return "it does not say whether the tiers share channels: add \"channels shared\" or \"channels separate\"";
    if (fast->n == 0 || !(hm_curve_most_gbs(fast) > 0))
        return "the fast tier has no point with traffic: add one, as in \"fast 200GB/s 300ns\"";
    if (slow->n == 0 || !(hm_curve_most_gbs(slow) > 0))
        return "the slow tier has no point with traffic: add one, as in \"slow 80GB/s 700ns\"";
    return NULL;
}

int hm_load_parse(const char *path, const char *text, size_t length, struct hm_load *load, struct hm_error *error)
{
    struct reader reader = {.load = load};
    const char *end = text + length;
    memset(load, 0, sizeof(*load));
    for (size_t line = 1; text < end; line++) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end;
        if (take_line(&reader, text, (size_t)(stop - text)) < 0)
            return hm_fail(error, EBADMSG, "%s:%zu: %s", path, line, reader.error.text);
        text = newline ? newline + 1 : end;
    }
    const char *lack = lacks(&reader);
    return lack ? hm_fail(error, EBADMSG, "%s: %s", path, lack) : 0;
}
