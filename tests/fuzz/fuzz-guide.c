/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the variable of a guided program: what is accepted is written again as it was, each id is found, and those
 * between them are not. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "sites/guide/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct hm_guide_table *table, const char *text)
{
    static char again[HM_GUIDE_TEXT];
    hm_guide_format(table, again);
    if (strcmp(again, text) != 0)
        abort();
    for (size_t i = 0; i < table->n_ids; i++) {
        uint64_t id = table->id[i];
        bool has_next = i + 1 < table->n_ids && table->id[i + 1] == id + 1;
        if (!hm_guide_has(table, id) || (id < UINT64_MAX && hm_guide_has(table, id + 1) != has_next))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_guide_table table;
    char *text = input_text(data, size);
    if (text && hm_guide_parse(text, &table) == 0)
        check(&table, text);
    free(text);
    return 0;
}
