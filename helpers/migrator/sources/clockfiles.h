/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine code of a process, read from the files that it has mapped. To read the memory of another process is refused
 * where kernel.yama.ptrace_scope is 1 or more, even to its own user; to see what it has mapped is not. Code that a
 * program makes itself is in no file, and is not read. Nor is what a program has changed in its own code.
 */
#ifndef HM_MIGRATOR_SOURCES_CLOCKFILES_H
#define HM_MIGRATOR_SOURCES_CLOCKFILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "migrator/watch/maps.h"

#define HM_CLOCK_FILES 256 /* mappings that are remembered: to find one anew, all of its process are read */

/* Zeroed at the beginning. */
struct hm_clock_files {
    struct {
        pid_t pid; /* 0: none */
        struct hm_mapping mapping;
    } file[HM_CLOCK_FILES];
    unsigned next; /* the one that gives way */
};

/*
 * Reads up to `size` bytes of the code at address `from`, to the end of its mapping at most. Returns the number of
 * bytes, or -1 with errno: ENOENT where no file's code is mapped there; EPERM where files that are mapped may not be
 * opened (powers.h).
 */
ssize_t hm_clock_files_read(struct hm_clock_files *files, pid_t pid, uint64_t from, uint8_t *code, size_t size);
/* The processes may have mapped other files since. */
void hm_clock_files_forget(struct hm_clock_files *files);

#endif
