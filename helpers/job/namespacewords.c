/* SPDX-License-Identifier: Apache-2.0 */
#include "namespacewords.h"

#include <stdio.h>

#include "namespacerun.h"
#include "wipelater.h"

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

void hm_namespacewords_add_times(struct hm_namespacewords *words, const struct hm_config *config, unsigned patience_s,
                                 char patience[HM_NUMBER], char limit[HM_NUMBER])
{
    unsigned left = hm_wipe_left(config);
    hm_namespacewords_add(words, "--patience",
                          hm_namespacewords_number(patience, patience_s < left ? patience_s : left));
    if (left != HM_WIPE_NO_LIMIT)
        hm_namespacewords_add(words, "--limit", hm_namespacewords_number(limit, left));
}
