/* SPDX-License-Identifier: Apache-2.0 */
#include "mapsread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/pagesize.h"
#include "migrator/decide/decide.h"
#include "powers.h"

#define LINES 16 /* most mappings of one file, one after the other, that are judged together */

struct group { /* mappings of one file that follow each other */
    size_t n;
    struct hm_mapping line[LINES];
};

/* What can be said of the whole mapping. */
static struct hm_mapped judge(const struct hm_maps_reader *reader, const struct hm_mapping *mapping, bool is_program)
{
    struct hm_mapped mapped = {.range = mapping->range, .whole = mapping->range, .kind = mapping->kind};
    struct hm_device device = {.kind = HM_MEMORY_OTHER};
    if (mapping->kind == HM_MEMORY_FILE)
        device = hm_devices_find(reader->devices, mapping->device, reader->pid);
    mapped.kind = is_program ? HM_MEMORY_PROGRAM : device.kind;
    bool is_users = (mapping->is_shared || mapped.kind == HM_MEMORY_FILE) && mapped.kind != HM_MEMORY_PROGRAM &&
                    mapped.kind != HM_MEMORY_OTHER && hm_powers_owns(reader->pid, mapping->range);
    mapped.may_move =
        mapped.kind == HM_MEMORY_SHARED || (mapped.kind == HM_MEMORY_FILE && is_users) ||
        (mapped.kind == HM_MEMORY_HUGETLB && device.huge_bytes == (uint64_t)hm_huge_pages() * hm_page_size());
    mapped.is_own = mapped.may_move && is_users && mapping->is_shared;
    return mapped;
}

/* Adds the mapping, in pieces that have one home each. */
static void add(struct hm_maps *maps, const struct hm_maps_reader *reader, const struct hm_mapping *mapping,
                bool is_program)
{
    if (maps->n_mapped >= HM_MAPS_MAPPED)
        return; /* there is no place for it, and to find out whose it is takes as long as to read many lines */
    struct hm_mapped mapped = judge(reader, mapping, is_program);
    bool is_claimed = mapped.may_move && mapping->is_shared && reader->claims;
    for (uint64_t done = 0, n; done < mapping->range.n_pages; done += n) {
        mapped.range.first = mapping->range.first + done;
        mapped.home = HM_PAGE(reader->space, mapped.range.first);
        n = mapping->range.n_pages - done;
        if (is_claimed) {
            uint64_t own = mapped.home;
            n = hm_claims_take(reader->claims, mapping, done, own, &mapped.home);
            if (n == 0)
                return;
            mapped.is_alias = mapped.home != own;
        }
        mapped.range.n_pages = n;
        if (hm_maps_add_mapped(maps, &mapped) != 0)
            return;
    }
}

/*
 * Is this the data of a program or library? Pages there that the process or its loader has written are copies of its
 * own; the mover leaves out the rest (hm_present_next). The loader makes the first part read-only when it has written
 * addresses there: then the data are two mappings, one after the other in memory. They are so in the file, too, or, by
 * some linkers (lld), the page in which one ends is also that in which the other begins.
 */
static bool is_data(const struct group *group, size_t i)
{
    const struct hm_mapping *line = &group->line[i], *next = i + 1 < group->n ? line + 1 : NULL;
    uint64_t end = line->offset + line->range.n_pages;
    bool goes_on = next && next->is_writable && next->range.first == line->range.first + line->range.n_pages &&
                   (next->offset == end || next->offset + 1 == end);
    return line->kind == HM_MEMORY_FILE && !line->is_shared && !line->is_code && (line->is_writable || goes_on);
}

static void add_group(struct hm_maps *maps, const struct hm_maps_reader *reader, struct group *group)
{
    bool is_program = false;
    for (size_t i = 0; i < group->n; i++)
        is_program = is_program || group->line[i].is_code;
    for (size_t i = 0; i < group->n; i++) {
        if (is_program && is_data(group, i))
            hm_maps_add(maps, group->line[i].range);
        else
            add(maps, reader, &group->line[i], is_program);
    }
    group->n = 0;
}

/* Is the mapping one more of the group's file? */
static bool belongs(const struct group *group, const struct hm_mapping *mapping)
{
    const struct hm_mapping *last = group->n > 0 ? &group->line[group->n - 1] : NULL;
    return last && last->inode > 0 && last->inode == mapping->inode && last->device == mapping->device &&
           group->n < LINES;
}

static bool is_aside(const struct hm_maps_reader *reader, const struct hm_mapping *mapping)
{
    for (size_t i = 0; i < reader->n_aside; i++)
        if (reader->aside[i].device == mapping->device && reader->aside[i].inode == mapping->inode)
            return true;
    return false;
}

int hm_maps_read(struct hm_maps *maps, const struct hm_maps_reader *reader, struct hm_error *error)
{
    char path[64], *line = NULL;
    size_t size = 0;
    struct group group = {.n = 0};
    struct hm_mapping mapping;
    bool is_full = false;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)reader->pid);
    hm_maps_clear(maps);
    FILE *file = fopen(path, "re");
    if (!file)
        return hm_fail_errno(error, "cannot read %s", path);
    while (!is_full && getline(&line, &size, file) > 0) {
        if (hm_maps_parse_line(line, &mapping) != 0 || is_aside(reader, &mapping))
            continue;
        if (!belongs(&group, &mapping))
            add_group(maps, reader, &group);
        if (mapping.kind == HM_MEMORY_PRIVATE)
            is_full = hm_maps_add(maps, mapping.range) != 0 && errno != EINVAL;
        else
            group.line[group.n++] = mapping;
    }
    add_group(maps, reader, &group);
    int number = ferror(file) ? ESRCH : 0;
    free(line);
    fclose(file);
    return number ? hm_fail(error, number, "cannot read %s to its end", path) : 0;
}
