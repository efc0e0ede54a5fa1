/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzzes ledger entries: whatever the bytes are, what was read can be written, and reads the same again. Unknown lines
 * that were written once are written the next time, too, and not twice. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "job/ledger/entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static ssize_t format(const struct hm_job *job, const char *before, char *out)
{
    ssize_t length = hm_entry_format(job, before, out, NULL);
    if (length < 0 || strlen(out) != (size_t)length)
        abort();
    return length;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_job job, again;
    static char first[HM_ENTRY_MOST], second[HM_ENTRY_MOST], read[HM_ENTRY_MOST];
    char *content = malloc(size + 1), *before = malloc(size + 1);
    if (!content || !before)
        abort();
    memcpy(content, data, size);
    content[size] = '\0';
    memcpy(before, content, size + 1);
    if (hm_entry_parse(content, size, &hm_job_fields, &job, NULL) == 0) {
        ssize_t length = format(&job, before, first);
        memcpy(read, first, (size_t)length + 1);
        if (hm_entry_parse(read, (size_t)length, &hm_job_fields, &again, NULL) != 0)
            abort();
        format(&again, first, second);
        if (strcmp(first, second) != 0)
            abort();
    }
    free(before);
    free(content);
    return 0;
}
