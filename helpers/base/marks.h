/* SPDX-License-Identifier: Apache-2.0 */
/* Does the kernel mark the pages that a process writes (soft-dirty marks, CONFIG_MEM_SOFT_DIRTY)? */
#ifndef HM_BASE_MARKS_H
#define HM_BASE_MARKS_H

#include <stdbool.h>
#include <stdint.h>

#define HM_MARK_PRESENT (UINT64_C(1) << 63) /* in an entry of /proc/PID/pagemap: the page is in memory */
#define HM_MARK_SWAPPED (UINT64_C(1) << 62) /* in such an entry: it is swapped out */
#define HM_MARK_FILE (UINT64_C(1) << 61)    /* in such an entry: it is of a file or of shared memory */
#define HM_MARK_ALONE (UINT64_C(1) << 56)   /* in such an entry: no other process maps the page */
#define HM_MARK_DIRTY (UINT64_C(1) << 55)   /* in such an entry: the page was written to since the marks were cleared */

/* Find out by writing to a new page of the calling process. No marks are cleared, and no other page is touched. */
bool hm_marks_are_kept(void);

#endif
