/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the search for memory operands in machine code. The input is what hybridmem-decode is asked. */
#include <stdlib.h>
#include <string.h>

#include "migrator/decode/operands.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_operands *operands;
    struct hm_operand_code code = {0};
    memcpy(&code, data, size < sizeof(code) ? size : sizeof(code));
    if (!operands)
        operands = hm_operands_new(NULL);
    if (!operands)
        abort();
    struct hm_operand found = hm_operands_find(operands, &code);
    if (found.is_known && !hm_operand_is_sound(&found))
        abort();
    return 0;
}
