/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include <stdio.h>

#include "run.h"
#include "wipelater.h"

#define MOST_S 86400 /* a day, the longest limit that hybridmem-namespace accepts */

void hm_namespacewords_begin(struct hm_namespacewords *words, const struct hm_config *config, const char *command)
{
    *words = (struct hm_namespacewords){.n = 2, .word = {HM_NAMESPACERUN_NAME, command}};
    if (config->path[0]) {
        words->word[words->n++] = "--config";
        words->word[words->n++] = config->path;
    }
}

void hm_namespacewords_add(struct hm_namespacewords *words, const char *name, const char *value)
{
    if (!value[0] || words->n + 2 > HM_NAMESPACEWORDS)
        return;
    words->word[words->n++] = name;
    words->word[words->n++] = value;
}

const char *hm_namespacewords_number(char text[HM_NUMBER], uint64_t value)
{
    snprintf(text, HM_NUMBER, "%llu", (unsigned long long)value);
    return text;
}

/* Limits seconds to what hybridmem-namespace accepts as a limit. */
static unsigned in_range(unsigned seconds)
{
    return seconds < 1 ? 1 : seconds < MOST_S ? seconds : MOST_S;
}

void hm_namespacewords_add_times(struct hm_namespacewords *words, const struct hm_config *config,
                                 const struct hm_namespacetimes *times)
{
    unsigned left = hm_wipe_left(config), patience = times->patience;
    bool has_limit = left != HM_WIPE_NO_LIMIT;
    if (has_limit && patience > left + times->waits_beyond)
        patience = left + times->waits_beyond;
    hm_namespacewords_add(words, "--patience", hm_namespacewords_number(words->patience, patience));
    if (has_limit)
        hm_namespacewords_add(words, "--limit",
                              hm_namespacewords_number(words->limit, in_range(left + times->wipes_beyond)));
    /* Mounts are detached after half of the patience at the latest: the processes that lose them need time to end. */
    if (times->detach > 0)
        hm_namespacewords_add(
            words, "--detach",
            hm_namespacewords_number(words->detach, times->detach < patience / 2 ? times->detach : patience / 2));
}
