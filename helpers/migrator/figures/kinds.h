/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of memory, by what decides whether and how its pages can be moved. */
#ifndef HM_MIGRATOR_FIGURES_KINDS_H
#define HM_MIGRATOR_FIGURES_KINDS_H

/* The order is that of the figures (progress.h): a new kind needs figures of its own. */
enum hm_memory_kind {
    HM_MEMORY_PRIVATE, /* heaps, stacks, anonymous memory, with or without transparent huge pages; and the data of
                          programs and libraries, of which some pages may be the file's still */
    HM_MEMORY_SHARED,  /* shared memory: /dev/shm and other tmpfs, System V, memfd, MAP_SHARED without a file */
    HM_MEMORY_FILE,    /* files in the page cache */
    HM_MEMORY_HUGETLB, /* huge pages of hugetlbfs */
    HM_MEMORY_PROGRAM, /* the rest of programs and libraries: of files of which some part may be executed */
    HM_MEMORY_OTHER,   /* devices, the kernel's own mappings, DAX, and what is gone by the time it is looked up */
    HM_MEMORY_KINDS
};

/* "private", "shared", "file", "hugetlb", "program" or "other". */
const char *hm_memory_kind_name(enum hm_memory_kind kind);

#endif
