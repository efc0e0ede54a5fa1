/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the preload library's environment variables: what is accepted is in its range. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc/preload.h"
#include "inputtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_layout layout;
    static struct hm_preload_rules rules;
    struct hm_error error;
    char *text = input_text(data, size);
    if (!text)
        return 0;
    if (hm_preload_parse_nodes(text, &layout, &error) == 0) {
        if (layout.n_nodes < 1 || layout.n_nodes > HM_ALLOC_NODES)
            abort();
        for (int i = 0; i < layout.n_nodes; i++)
            if (layout.node[i].id < 0 || layout.node[i].id > 1023 || layout.node[i].socket < -1)
                abort();
    }
    if (hm_preload_parse_size(text, &rules, &error) == 0 && rules.least_bytes < HM_ALLOC_LEAST)
        abort();
    if (hm_preload_parse_callers(text, &rules, &error) == 0)
        for (int i = 0; i < rules.n_callers; i++)
            if (!memchr(rules.caller[i].name, '\0', sizeof(rules.caller[i].name)) || !rules.caller[i].name[0])
                abort();
    free(text);
    return 0;
}
