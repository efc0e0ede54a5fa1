/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what the migrator reads of a process: its mappings, start time, user and cgroup; the first byte chooses which.
 */
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "inputtext.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_lines(char *text)
{
    struct hm_maps maps = {.n = 0};
    char *save = NULL;
    uint64_t pages = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct hm_range range;
        if (hm_maps_parse_line(line, &range) != 1)
            continue;
        if (range.n_pages == 0 || range.first + range.n_pages > UINT64_C(1) << 46)
            abort();
        if (hm_maps_add(&maps, range) == 0)
            pages += range.n_pages;
    }
    if (maps.n_pages != pages || hm_maps_count(&maps, 0, UINT64_C(1) << 46) != pages)
        abort();
    hm_maps_free(&maps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t start;
    char state;
    if (size == 0)
        return 0;
    char *text = input_text(data + 1, size - 1);
    if (!text)
        return 0;
    if (data[0] % 4 == 0)
        add_lines(text);
    else if (data[0] % 4 == 1)
        hm_process_parse_stat(text, &state, &start);
    else if (data[0] % 4 == 2)
        hm_ranks_is_user(text, 1000);
    else
        hm_ranks_is_inside(text, "/a/b");
    free(text);
    return 0;
}
