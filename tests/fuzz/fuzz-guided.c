/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes what a guided task reads of the program that chooses its sites: what is accepted can be in the ledger. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputtext.h"
#include "job/ledger/table.h"
#include "job/step/guided.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[HM_GUIDED_TEXT];
    static struct hm_guided guided;
    char *printed = input_text(data, size);
    if (!printed)
        return 0;
    memset(&guided, 0, sizeof(guided));
    if (hm_guided_parse(printed, &guided, text) == 0 &&
        (!guided.is_known || strlen(text) >= HM_GUIDED_TEXT || hm_fields_check(hm_guided_table, &guided, NULL) != 0))
        abort();
    free(printed);
    return 0;
}
