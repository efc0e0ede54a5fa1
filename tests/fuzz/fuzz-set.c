/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of the kernel's list format: a parsed list is written so that it parses to the same set, and is cut
 * where the buffer is too small. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/set.h"
#include "inputtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_set set, again;
    struct hm_error error;
    char shown[4096], small[16];
    char *text = input_text(data, size);
    if (!text)
        return 0;
    if (hm_set_parse(&set, text, &error) == 0) {
        hm_set_format(&set, shown, sizeof(shown));
        if (!strstr(shown, "...") && (hm_set_parse(&again, shown, NULL) < 0 || !hm_set_equal(&set, &again)))
            abort();
        hm_set_format(&set, small, size % sizeof(small));
    } else if (!hm_set_is_empty(&set)) {
        abort();
    }
    free(text);
    return 0;
}
