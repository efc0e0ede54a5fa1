/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of an ELF file's functions: any content behind a whole header. The functions that are read are in
 * order, each is found at its own start, and by its name if it alone has that.
 */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sites/profile/symbols.h"

#define MOST 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(int fd, const uint8_t *data, size_t size)
{
    ElfW(Ehdr) elf = {.e_shoff = sizeof(elf), .e_shentsize = sizeof(ElfW(Shdr)), .e_shnum = (uint16_t)(data[0] % 4)};
    memcpy(elf.e_ident, ELFMAG, SELFMAG);
    elf.e_ident[EI_CLASS] = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (ftruncate(fd, 0) != 0 || pwrite(fd, &elf, sizeof(elf), 0) != sizeof(elf) ||
        pwrite(fd, data + 1, size - 1, sizeof(elf)) != (ssize_t)(size - 1))
        abort();
}

static void check(const struct hm_symbols *symbols)
{
    for (size_t i = 0; i < symbols->n; i++) {
        const struct hm_symbol *symbol = &symbols->symbol[i];
        const struct hm_symbol *named = hm_symbols_named(symbols, symbol->name);
        if (symbol->bytes == 0 || symbol->bytes > INT64_MAX || symbol->start >= INT64_MAX)
            abort();
        if (i > 0 && symbols->symbol[i - 1].start >= symbol->start)
            abort();
        if (hm_symbols_at(symbols, symbol->start) != symbol)
            abort();
        if (named && named->start != symbol->start)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[32];
    struct hm_symbols symbols;
    fd = fd < 0 ? memfd_create("program", MFD_CLOEXEC) : fd;
    if (size < 1 || size > MOST)
        return 0;
    write_file(fd, data, size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    hm_symbols_read(path, &symbols);
    check(&symbols);
    hm_symbols_free(&symbols);
    return 0;
}
