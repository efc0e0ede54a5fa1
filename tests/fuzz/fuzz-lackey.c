/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of lackey's output: an accepted access is one that may be, texts are within their line, and the
 * same lines come out wherever the text is cut. The first byte tells where. */
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "migrator/recording/lackey.h"

struct seen {
    size_t n;
    uint64_t sum; /* of all that the lines say */
};

static void take(void *data, const struct hm_lackey_line *line)
{
    struct seen *seen = data;
    uint64_t what = line->address + line->size;
    if (line->kind <= HM_LACKEY_FETCH) {
        if (line->size == 0 || line->size > HM_LACKEY_BYTES || line->address + (line->size - 1) < line->address)
            abort();
    } else {
        if (line->length > HM_LACKEY_LINE || memchr(line->text, '\n', line->length))
            abort();
        for (size_t i = 0; i < line->length; i++)
            what = what * 31 + (unsigned char)line->text[i];
    }
    seen->n++;
    seen->sum = seen->sum * 31 + what + line->kind;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_lackey_stream whole = {.length = 0}, cut = {.length = 0};
    struct seen seen = {0}, seen_cut = {0};
    if (size == 0)
        return 0;
    size_t step = (size_t)data[0] + 1;
    size--;
    char *text = input_text(data + 1, size);
    if (!text)
        return 0;
    hm_lackey_feed(&whole, text, size, take, &seen);
    for (size_t at = 0; at < size; at += step)
        hm_lackey_feed(&cut, text + at, size - at < step ? size - at : step, take, &seen_cut);
    if (seen.n != seen_cut.n || seen.sum != seen_cut.sum || whole.length != cut.length ||
        memcmp(whole.part, cut.part, cut.length) != 0)
        abort();
    free(text);
    return 0;
}
