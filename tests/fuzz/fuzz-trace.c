/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes the reader of page traces: in an accepted trace the rows are in order, and all indices in range. */
#include <stdlib.h>

#include "migrator/replay/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hm_trace trace;
    if (hm_trace_parse("trace", (const char *)data, size, &trace, NULL) < 0)
        return 0;
    size_t rows = 0;
    for (size_t phase = 0; phase < trace.n_phases; phase++) {
        if (trace.phase[phase].first != rows || trace.phase[phase].count == 0)
            abort();
        rows += trace.phase[phase].count;
        for (size_t i = trace.phase[phase].first; i < rows; i++)
            if (trace.row[i].page >= trace.n_pages ||
                (i > trace.phase[phase].first && trace.row[i].page <= trace.row[i - 1].page))
                abort();
    }
    if (rows != trace.n_rows)
        abort();
    hm_trace_free(&trace);
    return 0;
}
