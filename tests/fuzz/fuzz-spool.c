/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of slurmctld's environment: what is accepted becomes one line of JSON without control characters.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/spoolentry.h"
#include "inputtext.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The lines of the input, one for each variable in the order in which they are asked for; an empty line: not set. */
struct lines {
    char *at;
};

static const char *next_line(const char *name, void *data)
{
    struct lines *lines = data;
    (void)name;
    char *line = lines->at;
    if (!line)
        return NULL;
    lines->at = strchr(line, '\n');
    if (lines->at)
        *lines->at++ = '\0';
    return line[0] ? line : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct hm_config config;
    struct hm_spool_entry entry;
    char *text = input_text(data, size);
    if (!text)
        return 0;
    struct lines lines = {text};
    hm_config_defaults(&config);
    if (hm_spool_entry_read(&entry, &config, next_line, &lines, 1, NULL) == 0) {
        char *line = hm_spool_entry_format(&entry);
        for (const char *byte = line; !byte || *byte; byte++)
            if (!byte || *byte < 0x20 || *byte == 0x7f)
                abort();
        free(line);
    }
    free(text);
    return 0;
}
