/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a process by what its pages are, and which of it may be moved: private anonymous memory, the heap, the
 * stack, and the data of programs and libraries, of which each page that was written is the process's own copy; shared
 * memory and huge pages of hugetlbfs; files of the user's own that are mapped and are no programs. Not the rest: the
 * files of programs and libraries, files of others, devices, the kernel's own mappings, mappings without any access.
 */
#ifndef HM_MIGRATOR_WATCH_MAPS_H
#define HM_MIGRATOR_WATCH_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "migrator/figures/kinds.h"

#define HM_MAPS_RANGES 65536 /* of one process; the kernel allows 65530 mappings by default */
#define HM_MAPS_MAPPED 1024  /* of one process; shared memory and files beyond that are left alone */

struct hm_range { /* the kernel's pages (base/pagesize.h) */
    uint64_t first, n_pages;
};

struct hm_mapping { /* a line of /proc/PID/maps */
    struct hm_range range;
    uint64_t offset;          /* of its first page in the file, in pages */
    uint64_t device, inode;   /* of the file, told apart from all others; device is major << 32 | minor */
    enum hm_memory_kind kind; /* PRIVATE, OTHER, or FILE: what kind of file is not known from the line (devices.h) */
    bool is_shared;           /* what is written is seen by others that map it, too */
    bool is_code;             /* may be executed */
    bool is_writable;
};

/* Memory that is not private, or a piece of it. */
struct hm_mapped {
    struct hm_range range;
    struct hm_range whole; /* the mapping that it is a piece of */
    /* The page of `range.first` by which its heat is counted, as in decide/decide.h. Of memory that is mapped several
     * times, one place is its home; the others are aliases. */
    uint64_t home;
    enum hm_memory_kind kind;
    bool may_move;
    bool is_alias; /* its home is elsewhere */
    bool is_own;   /* of a file of the user's, and shared: it may be moved for all who map it */
};

struct hm_maps_alias {  /* an alias, by its home */
    uint64_t home, end; /* its first page there; the end of the furthest one of this and those before it */
    uint32_t at;        /* in maps->mapped */
};

struct hm_maps { /* ranges whose pages may be moved, in ascending order, without overlap and without aliases */
    struct hm_range *range;
    size_t n, room;
    size_t most;      /* most ranges that are kept; 0: HM_MAPS_RANGES */
    uint64_t n_pages; /* sum over all ranges */
    bool is_apart;    /* adjacent mappings are not joined */
    /* what is not private, in ascending order, without overlap; the ranges have those that may be moved, too, except
     * aliases */
    struct hm_mapped *mapped;
    size_t n_mapped, mapped_room;
    struct hm_maps_alias *alias; /* sorted by home; those of one process may overlap there */
    size_t n_aliases, alias_room;
};

/* Parses a line of /proc/PID/maps. Returns 0, or -1 (EBADMSG) if it has another form. Pure. */
int hm_maps_parse_line(const char *line, struct hm_mapping *mapping);

/*
 * Adds a range after the last one. If the two touch, they are joined, unless `is_apart`. Returns 0, or -1 (ENOMEM;
 * ENOSPC: too many ranges; EINVAL: the range begins before the last one ends).
 */
int hm_maps_add(struct hm_maps *maps, struct hm_range range);
/*
 * Adds memory that is not private, after all that was added, and its range if it may be moved and is no alias. Memory
 * that may not be moved is joined with what touches it and is of the same kind. Returns 0, or -1 as hm_maps_add.
 */
int hm_maps_add_mapped(struct hm_maps *maps, const struct hm_mapped *mapped);
void hm_maps_clear(struct hm_maps *maps);
void hm_maps_free(struct hm_maps *maps);

/* The index of the first range that contains `page` or comes after it; maps->n if there is none. Pure. */
size_t hm_maps_find(const struct hm_maps *maps, uint64_t page);
/* The same in maps->mapped. */
size_t hm_maps_find_mapped(const struct hm_maps *maps, uint64_t page);
/* The index in maps->alias of the first that may have page `home`, or comes after it; maps->n_aliases if there is none.
 */
size_t hm_maps_find_alias(const struct hm_maps *maps, uint64_t home);
/* What the page is a part of; NULL: of private memory, or of none that is known. Pure. */
const struct hm_mapped *hm_maps_mapped(const struct hm_maps *maps, uint64_t page);
/* The kind of the page's memory; OTHER: it is in no mapping that is known. Pure. */
enum hm_memory_kind hm_maps_kind(const struct hm_maps *maps, uint64_t page);
/* How many pages from `first` to `first` + n_pages - 1 are in the ranges. Pure. */
uint64_t hm_maps_count(const struct hm_maps *maps, uint64_t first, uint64_t n_pages);
/* The part of `range` from page `first` to `end` - 1; its n_pages is 0 if there is none. Pure. */
struct hm_range hm_range_cut(struct hm_range range, uint64_t first, uint64_t end);
/*
 * All memory that may be moved, aliases too, as ranges. Returns `maps` if there are no aliases, or if there is no
 * memory for the list; else `all`, whose content it replaces.
 */
const struct hm_maps *hm_maps_with_aliases(const struct hm_maps *maps, struct hm_maps *all);

/* hm_maps_compare calls `gone` for each piece of `before` that is not in `now`. */
typedef void hm_maps_gone(void *data, struct hm_range range);
void hm_maps_compare(const struct hm_maps *before, const struct hm_maps *now, hm_maps_gone *gone, void *data);

#endif
