/* SPDX-License-Identifier: Apache-2.0 */
#include "idlebitmap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kernel-page-flags.h>
#include <stdio.h>
#include <unistd.h>

#include "caps.h"

#define BITMAP "/sys/kernel/mm/page_idle/bitmap"
#define FLAGS "/proc/kpageflags"
#define WORD sizeof(uint64_t) /* the files of the kernel are arrays of such words */
#define BITS 64               /* frames of a word of the bitmap */
/* a word of /proc/PID/pagemap */
#define PRESENT (UINT64_C(1) << 63)
#define ALONE (UINT64_C(1) << 56) /* one process has mapped the page, once */
#define FRAME ((UINT64_C(1) << 55) - 1)
#define MOST_ORDER 20 /* pages of the largest huge page: two to the power of this */

int hm_idle_open(struct hm_idle_bitmap *bitmap, struct hm_error *error)
{
    bitmap->flags = -1;
    bitmap->bits = open(BITMAP, O_RDWR | O_CLOEXEC);
    if (bitmap->bits < 0 && errno == ENOENT)
        return hm_fail(error, ENOENT, "this kernel has no idle bitmap (CONFIG_IDLE_PAGE_TRACKING)");
    if (bitmap->bits < 0)
        return hm_fail_errno(error, "cannot open %s", BITMAP);
    bitmap->flags = open(FLAGS, O_RDONLY | O_CLOEXEC);
    if (bitmap->flags >= 0)
        return 0;
    int number = errno;
    hm_idle_close(bitmap);
    errno = number;
    return hm_fail_errno(error, "cannot open %s", FLAGS);
}

void hm_idle_close(struct hm_idle_bitmap *bitmap)
{
    if (bitmap->bits >= 0)
        close(bitmap->bits);
    if (bitmap->flags >= 0)
        close(bitmap->flags);
    bitmap->bits = bitmap->flags = -1;
}

static bool read_word(int fd, uint64_t at, uint64_t *word)
{
    return pread(fd, word, WORD, (off_t)(at * WORD)) == WORD;
}

static bool has(uint64_t flags, int flag)
{
    return flags >> flag & 1;
}

/*
 * May the client know of the page's uses, given its word in the page map? Any process may use a file that others have
 * mapped, such as a library, and pages that the kernel has merged. Linux 6.10 to 7.1 call all anonymous pages merged.
 */
static bool may_be_told(uint64_t word, uint64_t flags)
{
    bool is_jobs_own = (has(flags, KPF_ANON) || has(flags, KPF_SWAPBACKED)) && !has(flags, KPF_KSM);
    return is_jobs_own || word & ALONE;
}

/* The frame whose bit stands for that of the word: the first one of a huge page. */
static uint64_t find_head(const struct hm_idle_bitmap *bitmap, uint64_t word)
{
    uint64_t frame = word & FRAME, flags, head = frame;
    if (!read_word(bitmap->flags, head, &flags))
        return HM_IDLE_UNKNOWN;
    for (int order = 1; has(flags, KPF_COMPOUND_TAIL) && order <= MOST_ORDER; order++) {
        head = frame >> order << order;
        if (!read_word(bitmap->flags, head, &flags))
            return HM_IDLE_UNKNOWN;
    }
    bool is_followed = has(flags, KPF_LRU) && !has(flags, KPF_COMPOUND_TAIL);
    return is_followed && may_be_told(word, flags) ? head : HM_IDLE_UNKNOWN;
}

int hm_idle_find(const struct hm_idle_bitmap *bitmap, pid_t pid, const uint64_t *page, unsigned n, uint64_t *frame,
                 struct hm_error *error)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
    hm_damon_caps_raise();
    int map = open(path, O_RDONLY | O_CLOEXEC);
    hm_damon_caps_lower();
    if (map < 0)
        return hm_fail_errno(error, "cannot open %s", path);
    for (unsigned i = 0; i < n; i++) {
        uint64_t word;
        if (!read_word(map, page[i], &word))
            frame[i] = HM_IDLE_UNKNOWN;
        else if (!(word & PRESENT))
            frame[i] = HM_IDLE_ABSENT;
        else /* without CAP_SYS_ADMIN the number is 0 */
            frame[i] = (word & FRAME) == 0 ? HM_IDLE_UNKNOWN : find_head(bitmap, word);
    }
    close(map);
    return 0;
}

int hm_idle_mark(const struct hm_idle_bitmap *bitmap, uint64_t frame)
{
    const uint64_t word = UINT64_C(1) << frame % BITS;
    return pwrite(bitmap->bits, &word, WORD, (off_t)(frame / BITS * WORD)) == WORD ? 0 : -1;
}

int hm_idle_look(const struct hm_idle_bitmap *bitmap, uint64_t frame, bool *is_used)
{
    uint64_t word;
    if (!read_word(bitmap->bits, frame / BITS, &word))
        return -1;
    *is_used = !(word >> frame % BITS & 1);
    return 0;
}
