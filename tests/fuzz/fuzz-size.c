/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the parsers of sizes, times and numbers: a size that is accepted has only digits and units, and numbers,
 * percentages and amounts are in their ranges.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "inputtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_error error;
    uint64_t value;
    double percent, amount;
    char shown[24];
    char *text = input_text(data, size);
    if (!text)
        return 0;
    if (hm_size_parse(text, &value, &error) == 0) {
        hm_size_format(value, shown, sizeof(shown));
        if (strspn(text, "0123456789KMGT") != strlen(text))
            abort();
    }
    if (hm_size_parse_number(text, 5, 500, &value, &error) == 0 && (value < 5 || value > 500))
        abort();
    if (hm_size_parse_percent(text, &percent, &error) == 0 && !(percent >= 0 && percent <= 100))
        abort();
    if (hm_size_parse_amount(text, "pJ/bit", &amount, &error) == 0 && !(amount >= 0 && amount < 1e9))
        abort();
    (void)hm_size_parse_duration(text, &value, &error);
    free(text);
    return 0;
}
