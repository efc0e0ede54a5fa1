/* SPDX-License-Identifier: Apache-2.0 */
#include "maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/amount.h"
#include "base/pagesize.h"
#include "base/search.h"

#define MOST_ADDRESS (UINT64_C(1) << 58) /* page numbers must fit into 46 bits; addresses have 57 bits at most */

/* Added to the inode number of a segment of System V. That is the segment's own number, which begins at 0, and may be
 * that of another file of the same device. */
#define SYSTEM_V (UINT64_C(1) << 63)

/* Reads digits of a base up to the character `stop`. Returns what follows it, or NULL. */
static const char *take_number(const char *at, int base, char stop, uint64_t *value)
{
    uint64_t number = 0;
    const char *start = at;
    for (;; at++) {
        int digit = *at >= '0' && *at <= '9' ? *at - '0' : *at >= 'a' && *at <= 'f' ? *at - 'a' + 10 : base;
        if (digit >= base)
            break;
        if (__builtin_mul_overflow(number, (uint64_t)base, &number) ||
            __builtin_add_overflow(number, (uint64_t)digit, &number))
            return NULL;
    }
    *value = number;
    return at > start && *at == stop ? at + 1 : NULL;
}

/*
 * Is this the name of private memory whose pages may be moved? "" is anonymous memory or a program's zeroed data;
 * "[anon:...]" was named by the program.
 */
static bool is_own_name(const char *name)
{
    static const char *const names[] = {"", "[heap]", "[stack]"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "[anon:", 6) == 0;
}

int hm_maps_parse_line(const char *line, struct hm_mapping *mapping)
{
    uint64_t start, end, offset, major, minor, inode;
    char name[16] = "";
    const char *at = take_number(line, 16, '-', &start);
    at = at ? take_number(at, 16, ' ', &end) : NULL;
    const char *mode = at;
    if (!at || strnlen(at, 5) < 5 || at[4] != ' ')
        return hm_fail(NULL, EBADMSG, "no mapping");
    at = take_number(at + 5, 16, ' ', &offset);
    at = at ? take_number(at, 16, ':', &major) : NULL;
    at = at ? take_number(at, 16, ' ', &minor) : NULL;
    const char *digits = at ? at + strspn(at, "0123456789") : NULL;
    if (!at || !take_number(at, 10, *digits, &inode) || (*digits != ' ' && *digits != '\n' && *digits != '\0') ||
        start >= end || (start | end) % hm_page_size() != 0 || (major | minor) > UINT32_MAX)
        return hm_fail(NULL, EBADMSG, "no mapping");
    at = digits + strspn(digits, " ");
    size_t length = strcspn(at, "\n");
    memcpy(name, at, length < sizeof(name) - 1 ? length : sizeof(name) - 1);
    uint64_t file = strncmp(name, "/SYSV", 5) == 0 ? inode | SYSTEM_V : inode;
    *mapping = (struct hm_mapping){.range = {start >> hm_page_shift(), (end - start) >> hm_page_shift()},
                                   .offset = offset >> hm_page_shift(),
                                   .device = major << 32 | minor,
                                   .inode = file,
                                   .kind = HM_MEMORY_OTHER,
                                   .is_shared = mode[3] == 's',
                                   .is_code = mode[2] == 'x' && file > 0,
                                   .is_writable = mode[1] == 'w'};
    if (memcmp(mode, "---", 3) == 0 || end > MOST_ADDRESS)
        return 0;
    if (inode == 0 && !mapping->is_shared && is_own_name(name))
        mapping->kind = HM_MEMORY_PRIVATE;
    else if (mapping->inode > 0 && (name[0] == '/' || strncmp(name, "[anon_shmem:", 12) == 0))
        mapping->kind = HM_MEMORY_FILE;
    return 0;
}

/* Makes room for one more of `size` bytes. Returns the array, or NULL (ENOMEM); then it is as before. */
static void *grow(void *array, size_t *room, size_t size)
{
    size_t more = *room ? 2 * *room : 16;
    void *grown = realloc(array, more * size);
    if (!grown) {
        hm_fail(NULL, ENOMEM, "no memory for mappings");
        return NULL;
    }
    *room = more;
    return grown;
}

int hm_maps_add(struct hm_maps *maps, struct hm_range range)
{
    struct hm_range *last = maps->n > 0 ? &maps->range[maps->n - 1] : NULL;
    if (last && range.first < last->first + last->n_pages)
        return hm_fail(NULL, EINVAL, "ranges out of order");
    if (last && range.first == last->first + last->n_pages && !maps->is_apart) {
        last->n_pages += range.n_pages;
        maps->n_pages += range.n_pages;
        return 0;
    }
    if (maps->n >= (maps->most > 0 ? maps->most : HM_MAPS_RANGES))
        return hm_fail(NULL, ENOSPC, "too many ranges");
    if (maps->n == maps->room) {
        struct hm_range *grown = grow(maps->range, &maps->room, sizeof(*grown));
        if (!grown)
            return -1;
        maps->range = grown;
    }
    maps->range[maps->n++] = range;
    maps->n_pages += range.n_pages;
    return 0;
}

/* Adds the alias that will be maps->mapped[maps->n_mapped]. Most come in the order of their homes. */
static int add_alias(struct hm_maps *maps, const struct hm_mapped *mapped)
{
    size_t i = maps->n_aliases;
    if (i == maps->alias_room) {
        struct hm_maps_alias *grown = grow(maps->alias, &maps->alias_room, sizeof(*grown));
        if (!grown)
            return -1;
        maps->alias = grown;
    }
    for (; i > 0 && maps->alias[i - 1].home > mapped->home; i--)
        maps->alias[i] = maps->alias[i - 1];
    maps->alias[i] =
        (struct hm_maps_alias){mapped->home, mapped->home + mapped->range.n_pages, (uint32_t)maps->n_mapped};
    maps->n_aliases++;
    for (i = i > 0 ? i : 1; i < maps->n_aliases; i++)
        maps->alias[i].end = hm_most(maps->alias[i].end, maps->alias[i - 1].end);
    return 0;
}

int hm_maps_add_mapped(struct hm_maps *maps, const struct hm_mapped *mapped)
{
    struct hm_mapped *last = maps->n_mapped > 0 ? &maps->mapped[maps->n_mapped - 1] : NULL;
    if (last && mapped->range.first < last->range.first + last->range.n_pages)
        return hm_fail(NULL, EINVAL, "mappings out of order");
    if (last && !last->may_move && !mapped->may_move && last->kind == mapped->kind &&
        mapped->range.first == last->range.first + last->range.n_pages) {
        last->range.n_pages += mapped->range.n_pages;
        return 0;
    }
    if (maps->n_mapped >= HM_MAPS_MAPPED)
        return hm_fail(NULL, ENOSPC, "too many mappings");
    if (maps->n_mapped == maps->mapped_room) {
        struct hm_mapped *grown = grow(maps->mapped, &maps->mapped_room, sizeof(*grown));
        if (!grown)
            return -1;
        maps->mapped = grown;
    }
    if (mapped->may_move && !mapped->is_alias && hm_maps_add(maps, mapped->range) != 0)
        return -1;
    if (mapped->is_alias && add_alias(maps, mapped) != 0)
        return -1;
    maps->mapped[maps->n_mapped++] = *mapped;
    return 0;
}

void hm_maps_clear(struct hm_maps *maps)
{
    maps->n = maps->n_mapped = maps->n_aliases = 0;
    maps->n_pages = 0;
}

void hm_maps_free(struct hm_maps *maps)
{
    free(maps->range);
    free(maps->mapped);
    free(maps->alias);
    *maps = (struct hm_maps){.n = 0};
}

size_t hm_maps_find(const struct hm_maps *maps, uint64_t page)
{
    size_t low = 0, high = maps->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (maps->range[middle].first + maps->range[middle].n_pages > page)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t hm_maps_find_mapped(const struct hm_maps *maps, uint64_t page)
{
    size_t low = 0, high = maps->n_mapped;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (maps->mapped[middle].range.first + maps->mapped[middle].range.n_pages > page)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

size_t hm_maps_find_alias(const struct hm_maps *maps, uint64_t home)
{
    return HM_SEARCH_UPTO(maps->alias, maps->n_aliases, end, home);
}

const struct hm_mapped *hm_maps_mapped(const struct hm_maps *maps, uint64_t page)
{
    size_t i = hm_maps_find_mapped(maps, page);
    return i < maps->n_mapped && maps->mapped[i].range.first <= page ? &maps->mapped[i] : NULL;
}

enum hm_memory_kind hm_maps_kind(const struct hm_maps *maps, uint64_t page)
{
    const struct hm_mapped *mapped = hm_maps_mapped(maps, page);
    return mapped ? mapped->kind : hm_maps_count(maps, page, 1) > 0 ? HM_MEMORY_PRIVATE : HM_MEMORY_OTHER;
}

struct hm_range hm_range_cut(struct hm_range range, uint64_t first, uint64_t end)
{
    uint64_t from = range.first > first ? range.first : first;
    uint64_t to = range.first + range.n_pages < end ? range.first + range.n_pages : end;
    return (struct hm_range){from, to > from ? to - from : 0};
}

uint64_t hm_maps_count(const struct hm_maps *maps, uint64_t first, uint64_t n_pages)
{
    uint64_t count = 0, end = first + n_pages;
    for (size_t i = hm_maps_find(maps, first); i < maps->n && maps->range[i].first < end; i++)
        count += hm_range_cut(maps->range[i], first, end).n_pages;
    return count;
}

const struct hm_maps *hm_maps_with_aliases(const struct hm_maps *maps, struct hm_maps *all)
{
    size_t i = 0, m = 0;
    if (maps->n_aliases == 0)
        return maps;
    hm_maps_clear(all);
    while (i < maps->n || m < maps->n_mapped) {
        const struct hm_mapped *mapped = m < maps->n_mapped ? &maps->mapped[m] : NULL;
        bool is_next = mapped && (i == maps->n || mapped->range.first < maps->range[i].first);
        m += is_next;
        if (is_next && !mapped->is_alias)
            continue;
        if (hm_maps_add(all, is_next ? mapped->range : maps->range[i++]) != 0 && errno == ENOMEM)
            return maps;
    }
    return all;
}

void hm_maps_compare(const struct hm_maps *before, const struct hm_maps *now, hm_maps_gone *gone, void *data)
{
    for (size_t i = 0; i < before->n; i++) {
        uint64_t at = before->range[i].first, end = at + before->range[i].n_pages;
        for (size_t j = hm_maps_find(now, at); j < now->n && now->range[j].first < end; j++) {
            if (now->range[j].first > at)
                gone(data, (struct hm_range){at, now->range[j].first - at});
            at = now->range[j].first + now->range[j].n_pages;
        }
        if (at < end)
            gone(data, (struct hm_range){at, end - at});
    }
}
