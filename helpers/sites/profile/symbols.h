/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of an ELF file, by its symbols. The file may be anybody's: nothing of it is believed. */
#ifndef HM_SITES_SYMBOLS_H
#define HM_SITES_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#define HM_SYMBOLS_NAME 1024 /* bytes of a name, with its end; functions with longer ones are left out */

struct hm_symbol {
    const char *name;
    uint64_t start, bytes; /* as profiles can have them */
};

struct hm_symbols {
    size_t n;
    struct hm_symbol *symbol; /* ascending by start; where several begin at one place, the first name of them */
    size_t n_named;
    struct hm_symbol *named; /* all, by their names */
    char *names;
};

/* Reads those of a file: all, or where it is stripped those that it exports. Without any, or where it cannot be read,
 * there are none. To be freed. */
void hm_symbols_read(const char *path, struct hm_symbols *symbols);
void hm_symbols_free(struct hm_symbols *symbols);

/* The function that has this address, which is as frames of profiles have it; NULL: none. Pure. */
const struct hm_symbol *hm_symbols_at(const struct hm_symbols *symbols, uint64_t address);

/* The one function with this name, which may have others; NULL: there is none, or several. Pure. */
const struct hm_symbol *hm_symbols_named(const struct hm_symbols *symbols, const char *name);

#endif
