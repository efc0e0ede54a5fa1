/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes what the migrator reads of a process: its mappings, mounts, start time, user and cgroup; the first byte
 * chooses which.
 */
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "inputtext.h"
#include "migrator/watch/claims.h"
#include "migrator/watch/devices.h"
#include "migrator/watch/maps.h"
#include "migrator/watch/ranks.h"

#define MOST_PAGES (UINT64_C(1) << 46)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t end_of(struct hm_range range)
{
    return range.first + range.n_pages;
}

/* Adds a mapping of shared memory, whose pages have to have one home each. Returns how many have it elsewhere, and adds
 * the others to *pages. */
static uint64_t add_pieces(struct hm_maps *maps, struct hm_claims *claims, const struct hm_mapping *mapping,
                           uint64_t *pages)
{
    uint64_t aliases = 0;
    struct hm_mapped mapped = {.kind = HM_MEMORY_SHARED, .may_move = true};
    for (uint64_t done = 0, n; done < mapping->range.n_pages; done += n) {
        mapped.range.first = mapping->range.first + done;
        n = mapped.range.n_pages = hm_claims_take(claims, mapping, done, mapped.range.first, &mapped.home);
        if (n == 0)
            break;
        if (n > mapping->range.n_pages - done)
            abort();
        mapped.is_alias = mapped.home != mapped.range.first;
        if (hm_maps_add_mapped(maps, &mapped) != 0)
            continue;
        if (mapped.is_alias)
            aliases += n;
        else
            *pages += n;
    }
    return aliases;
}

/* Is the alias found by the last page of its home, also behind others that begin later and end before? */
static bool is_found(const struct hm_maps *maps, const struct hm_mapped *alias)
{
    struct hm_alias place = {0};
    while (hm_claims_next(maps, 1, alias->home + alias->range.n_pages - 1, 1, &place))
        if (place.mapped == alias)
            return true;
    return false;
}

static void add_lines(char *text)
{
    struct hm_maps maps = {.n = 0}, all = {.n = 0};
    struct hm_claims claims = {.n = 0};
    struct hm_alias place = {0};
    char *save = NULL;
    uint64_t pages = 0, aliases = 0, end = 0;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct hm_mapping mapping;
        if (hm_maps_parse_line(line, &mapping) != 0)
            continue;
        if (mapping.range.n_pages == 0 || (mapping.kind != HM_MEMORY_OTHER && end_of(mapping.range) > MOST_PAGES))
            abort();
        if (mapping.range.first < end) /* the kernel's lines are in order, and none of them overlap */
            continue;
        end = end_of(mapping.range);
        if (mapping.kind == HM_MEMORY_PRIVATE && hm_maps_add(&maps, mapping.range) == 0)
            pages += mapping.range.n_pages;
        if (mapping.kind == HM_MEMORY_FILE)
            aliases += add_pieces(&maps, &claims, &mapping, &pages);
    }
    if (maps.n_pages != pages || hm_maps_count(&maps, 0, MOST_PAGES) != pages ||
        hm_maps_with_aliases(&maps, &all)->n_pages != pages + aliases)
        abort();
    while (hm_claims_next(&maps, 1, 0, MOST_PAGES, &place)) /* each alias is found once */
        aliases -= place.range.n_pages;
    if (aliases != 0)
        abort();
    for (size_t i = 0; i < maps.n_mapped; i++)
        if (maps.mapped[i].is_alias && !is_found(&maps, &maps.mapped[i]))
            abort();
    hm_maps_free(&all);
    hm_maps_free(&maps);
    hm_claims_free(&claims);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t start;
    char state;
    struct hm_device device;
    if (size == 0)
        return 0;
    char *text = input_text(data + 1, size - 1);
    if (!text)
        return 0;
    if (data[0] % 8 == 4)
        hm_devices_parse_mount(text, &device);
    else if (data[0] % 4 == 0)
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
