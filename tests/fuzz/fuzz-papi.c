/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of hybridmem-papi's lines. */
#include <stdlib.h>

#include "inputtext.h"
#include "meter/papi/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_papi_line line;
    struct hm_error error = {""};
    char *text = input_text(data, size);
    if (!text)
        return 0;
    if (hm_papi_line_parse(text, &line, &error) == 0) {
        bool has_event = line.type == HM_PAPI_LINE_EVENT;
        if (line.number > HM_PAPI_MOST_EVENTS ||
            (has_event && (line.number == HM_PAPI_MOST_EVENTS || line.event.socket < -1 || !line.event.name[0])))
            abort();
    } else if (!error.text[0]) {
        abort();
    }
    free(text);
    return 0;
}
