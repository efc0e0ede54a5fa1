/* SPDX-License-Identifier: Apache-2.0 */
#include "maps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pagesize.h"

#define MOST_ADDRESS (UINT64_C(1) << 58) /* page numbers must fit into 46 bits; addresses have 57 bits at most */

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
 * Is this the name of a mapping whose pages may be moved? "" is anonymous memory or a program's zeroed data;
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

int hm_maps_parse_line(const char *line, struct hm_range *range)
{
    uint64_t start, end, offset, major, minor;
    char name[16] = "";
    const char *at = take_number(line, 16, '-', &start);
    at = at ? take_number(at, 16, ' ', &end) : NULL;
    const char *mode = at;
    if (!at || strnlen(at, 5) < 5 || at[4] != ' ')
        return hm_fail(NULL, EBADMSG, "no mapping");
    at = take_number(at + 5, 16, ' ', &offset);
    at = at ? take_number(at, 16, ':', &major) : NULL;
    at = at ? take_number(at, 16, ' ', &minor) : NULL;
    if (!at)
        return hm_fail(NULL, EBADMSG, "no mapping");
    size_t digits = strspn(at, "0123456789");
    bool has_inode = strspn(at, "0") < digits;
    at += digits;
    if (digits == 0 || (*at != ' ' && *at != '\n' && *at != '\0') || start >= end ||
        (start | end) % hm_page_size() != 0)
        return hm_fail(NULL, EBADMSG, "no mapping");
    at += strspn(at, " ");
    size_t length = strcspn(at, "\n");
    memcpy(name, at, length < sizeof(name) - 1 ? length : sizeof(name) - 1);
    if (has_inode || mode[3] != 'p' || memcmp(mode, "---", 3) == 0 || end > MOST_ADDRESS || !is_own_name(name))
        return 0;
    *range = (struct hm_range){start >> hm_page_shift(), (end - start) >> hm_page_shift()};
    return 1;
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
        size_t room = maps->room ? 2 * maps->room : 32;
        struct hm_range *grown = realloc(maps->range, room * sizeof(*grown));
        if (!grown)
            return hm_fail(NULL, ENOMEM, "no memory for ranges");
        maps->range = grown;
        maps->room = room;
    }
    maps->range[maps->n++] = range;
    maps->n_pages += range.n_pages;
    return 0;
}

int hm_maps_read(struct hm_maps *maps, pid_t pid, struct hm_error *error)
{
    char path[64], *line = NULL;
    size_t size = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    maps->n = 0;
    maps->n_pages = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return hm_fail_errno(error, "cannot read %s", path);
    while (getline(&line, &size, file) > 0) {
        struct hm_range range;
        if (hm_maps_parse_line(line, &range) == 1 && hm_maps_add(maps, range) != 0 && errno != EINVAL)
            break;
    }
    int number = ferror(file) ? ESRCH : 0;
    free(line);
    fclose(file);
    return number ? hm_fail(error, number, "cannot read %s to its end", path) : 0;
}

void hm_maps_free(struct hm_maps *maps)
{
    free(maps->range);
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

/* The part of `range` from page `first` to `end` - 1; its n_pages is 0 if there is none. */
static struct hm_range cut(struct hm_range range, uint64_t first, uint64_t end)
{
    uint64_t from = range.first > first ? range.first : first;
    uint64_t to = range.first + range.n_pages < end ? range.first + range.n_pages : end;
    return (struct hm_range){from, to > from ? to - from : 0};
}

uint64_t hm_maps_count(const struct hm_maps *maps, uint64_t first, uint64_t n_pages)
{
    uint64_t count = 0, end = first + n_pages;
    for (size_t i = hm_maps_find(maps, first); i < maps->n && maps->range[i].first < end; i++)
        count += cut(maps->range[i], first, end).n_pages;
    return count;
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
