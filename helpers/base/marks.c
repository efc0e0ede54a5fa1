/* SPDX-License-Identifier: Apache-2.0 */
#include "marks.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pagesize.h"

/* The kernel marks a new page as written even where nobody has cleared marks before. So it is enough to write to a new
 * page, and to look at its mark. */
static bool look(void)
{
    char path[64];
    size_t size = hm_page_size();
    uint64_t entry = 0;
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED) {
        *(volatile char *)page = 2;
        off_t at = (off_t)((uintptr_t)page / size * sizeof(entry));
        if (fd < 0 || pread(fd, &entry, sizeof(entry), at) != (ssize_t)sizeof(entry))
            entry = 0;
        munmap(page, size);
    }
    if (fd >= 0)
        close(fd);
    return (entry & HM_MARK_DIRTY) != 0;
}

bool hm_marks_are_kept(void)
{
    static bool is_known, are_kept;
    are_kept = is_known ? are_kept : look();
    is_known = true;
    return are_kept;
}
