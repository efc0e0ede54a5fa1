/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the parser of /proc/zoneinfo: what is kept of a zone is no more than what is free in it. */
#include <stdlib.h>
#include <string.h>

#include "base/pagesize.h"
#include "inputtext.h"
#include "migrator/move/zones.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_zone zone = {.node = -1};
    char *text = input_text(data, size), *rest = NULL;
    if (!text)
        return 0;
    for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        struct hm_watermarks marks = {0};
        if (!hm_zone_take(&zone, line))
            continue;
        hm_zone_add(&zone, &marks);
        if (zone.node < 0 || marks.low_bytes / hm_page_size() > zone.free ||
            marks.high_bytes / hm_page_size() > zone.free)
            abort();
    }
    free(text);
    return 0;
}
