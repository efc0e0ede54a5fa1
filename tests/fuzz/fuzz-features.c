/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of the features with which Slurm has a node reboot. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "memmode/decide/boot.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* How many words of the list are "memmode=WORD"? The list is split here. */
static unsigned count(char *list, const char *feature)
{
    unsigned n = 0;
    for (char *rest = list, *word; (word = strsep(&rest, ","));)
        n += strcmp(word, feature) == 0;
    return n;
}

/* A mode that is found was named as a word of its own, and no other one was; where none is found, none is in the text.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const features[] = {
        [HM_MEMMODE_FLAT] = "memmode=flat", [HM_MEMMODE_CACHE] = "memmode=cache", [HM_MEMMODE_MIXED] = "memmode=mixed"};
    struct hm_error error = {""};
    enum hm_memmode asked;
    char *text = input_text(data, size), *copy = text ? strdup(text) : NULL;
    if (!copy) {
        free(text);
        return 0;
    }
    if (hm_memmode_parse_list(text, &asked, &error) != 0) {
        if (!error.text[0])
            abort();
    } else if (asked == HM_MEMMODE_NONE) {
        if (strstr(text, HM_MEMMODE_FEATURE))
            abort();
    } else {
        for (enum hm_memmode other = HM_MEMMODE_FLAT; other <= HM_MEMMODE_MIXED; other++)
            if (other != asked && strstr(text, features[other]))
                abort();
        if (count(copy, features[asked]) == 0)
            abort();
    }
    free(copy);
    free(text);
    return 0;
}
