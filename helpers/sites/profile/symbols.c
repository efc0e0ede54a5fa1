/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/elffile.h"
#include "base/search.h"

#define MOST_BYTES (256u << 20) /* of symbols, and of their names */

/* Reads a part of the file, with a 0 behind it. NULL: the file does not have it, or no memory. */
static void *read_part(int fd, uint64_t offset, uint64_t length)
{
    char *part = length <= MOST_BYTES ? malloc(length + 1) : NULL;
    if (part && hm_elf_read_at(fd, part, length, offset) == 0) {
        part[length] = '\0';
        return part;
    }
    free(part);
    return NULL;
}

static int by_start(const void *a, const void *b)
{
    const struct hm_symbol *left = a, *right = b;
    if (left->start != right->start)
        return left->start < right->start ? -1 : 1;
    return strcmp(left->name, right->name);
}

static int by_name(const void *a, const void *b)
{
    const struct hm_symbol *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->start > right->start) - (left->start < right->start);
}

/* Takes the functions of a table of symbols, whose names are in symbols->names, of `length` bytes and a 0. */
static void take(const ElfW(Sym) * table, size_t n, uint64_t length, struct hm_symbols *symbols)
{
    symbols->named = calloc(n + 1, sizeof(*symbols->named));
    for (size_t i = 0; i < n && symbols->named; i++) {
        const ElfW(Sym) *from = &table[i];
        bool is_function = ELF64_ST_TYPE(from->st_info) == STT_FUNC && from->st_shndx != SHN_UNDEF;
        bool is_right = from->st_size > 0 && from->st_size <= INT64_MAX && from->st_value < INT64_MAX;
        if (!is_function || !is_right || from->st_name >= length)
            continue;
        const char *name = symbols->names + from->st_name;
        size_t end = strnlen(name, HM_SYMBOLS_NAME);
        if (end > 0 && end < HM_SYMBOLS_NAME)
            symbols->named[symbols->n_named++] = (struct hm_symbol){name, from->st_value, from->st_size};
    }
}

/* Puts what was taken in both orders. */
static void sort(struct hm_symbols *symbols)
{
    size_t n = symbols->n_named, size = sizeof(*symbols->named);
    symbols->symbol = n > 0 ? calloc(n, size) : NULL;
    if (!symbols->symbol)
        return;
    memcpy(symbols->symbol, symbols->named, n * size);
    qsort(symbols->named, n, size, by_name);
    qsort(symbols->symbol, n, size, by_start);
    for (size_t i = 0; i < n; i++)
        if (symbols->n == 0 || symbols->symbol[symbols->n - 1].start != symbols->symbol[i].start)
            symbols->symbol[symbols->n++] = symbols->symbol[i];
}

/* Takes the section of symbols and that of their names, which it tells. */
static void take_section(int fd, const ElfW(Shdr) * sections, unsigned n_sections, const ElfW(Shdr) * section,
                         struct hm_symbols *symbols)
{
    const ElfW(Shdr) *names = section->sh_link < n_sections ? &sections[section->sh_link] : NULL;
    ElfW(Sym) *table = names ? read_part(fd, section->sh_offset, section->sh_size) : NULL;
    symbols->names = table ? read_part(fd, names->sh_offset, names->sh_size) : NULL;
    if (symbols->names) {
        take(table, section->sh_size / sizeof(*table), names->sh_size, symbols);
        sort(symbols);
    }
    free(table);
}

/* The first of this type, as a file has one; NULL: none. */
static const ElfW(Shdr) * find_section(const ElfW(Shdr) * sections, unsigned n, unsigned type)
{
    for (unsigned i = 0; i < n; i++)
        if (sections[i].sh_type == type)
            return &sections[i];
    return NULL;
}

static void read_symbols(int fd, struct hm_symbols *symbols)
{
    static const unsigned types[] = {SHT_SYMTAB, SHT_DYNSYM};
    ElfW(Ehdr) elf;
    if (hm_elf_read_head(fd, &elf) != 0 || elf.e_shentsize != sizeof(ElfW(Shdr)))
        return;
    ElfW(Shdr) *sections = read_part(fd, elf.e_shoff, elf.e_shnum * sizeof(*sections));
    for (int type = 0; type < 2 && sections && !symbols->names; type++) { /* stripped files have only the second */
        const ElfW(Shdr) *section = find_section(sections, elf.e_shnum, types[type]);
        if (section)
            take_section(fd, sections, elf.e_shnum, section, symbols);
    }
    free(sections);
}

void hm_symbols_read(const char *path, struct hm_symbols *symbols)
{
    *symbols = (struct hm_symbols){.n = 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    read_symbols(fd, symbols);
    close(fd);
}

void hm_symbols_free(struct hm_symbols *symbols)
{
    free(symbols->symbol);
    free(symbols->named);
    free(symbols->names);
    *symbols = (struct hm_symbols){.n = 0};
}

const struct hm_symbol *hm_symbols_at(const struct hm_symbols *symbols, uint64_t address)
{
    size_t place = HM_SEARCH_UPTO(symbols->symbol, symbols->n, start, address);
    const struct hm_symbol *symbol = place > 0 ? &symbols->symbol[place - 1] : NULL;
    return symbol && address - symbol->start < symbol->bytes ? symbol : NULL;
}

/* The place of the first that has this name or, `is_behind`, of the first behind all that have it. */
static size_t place_of(const struct hm_symbols *symbols, const char *name, bool is_behind)
{
    size_t low = 0, high = symbols->n_named;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(symbols->named[middle].name, name);
        if (order < 0 || (is_behind && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of those with one name, the first and the last begin at one place if they are one function. */
const struct hm_symbol *hm_symbols_named(const struct hm_symbols *symbols, const char *name)
{
    if (symbols->n == 0)
        return NULL;
    size_t first = place_of(symbols, name, false), end = place_of(symbols, name, true);
    const struct hm_symbol *named = symbols->named;
    return first < end && named[first].start == named[end - 1].start ? &named[first] : NULL;
}
