/* SPDX-License-Identifier: Apache-2.0 */
#include "movekernel.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/marks.h"
#include "migrator/move/present.h"
#include "migrator/watch/powers.h"

#define PAGE_FILE (UINT64_C(1) << 2)
#define PAGE_PRESENT (UINT64_C(1) << 3)
#define PAGE_HUGE (UINT64_C(1) << 6)
#define PAGEMAP 1000000 /* a number that is no descriptor */

struct move_kernel kernel;

long __wrap_move_pages(int pid, unsigned long count, void **pages, const int *to, int *status, int flags);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __wrap_ioctl(int fd, unsigned long request, void *argument);
ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at);

void kernel_reset(int node)
{
    memset(&kernel, 0, sizeof(kernel));
    kernel.closed = kernel.full = -1;
    for (unsigned i = 0; i < PAGES; i++)
        kernel.node[i] = node;
}

unsigned kernel_count_on(int node)
{
    unsigned count = 0;
    for (unsigned i = 0; i < PAGES; i++)
        count += kernel.node[i] == node;
    return count;
}

/* The clock of this model: only calls that move pages advance it. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
    (void)clock;
    *time = (struct timespec){.tv_sec = (time_t)kernel.took_s,
                              .tv_nsec = (long)((kernel.took_s - (double)(time_t)kernel.took_s) * 1e9)};
    return 0;
}

static unsigned index_of(const void *page)
{
    uint64_t number = (uint64_t)(uintptr_t)page >> hm_page_shift();
    assert_true(number >= FIRST && number < FIRST + PAGES);
    return (unsigned)(number - FIRST);
}

/* The pages that move together with this one. */
static void whole(unsigned page, unsigned *first, unsigned *count)
{
    bool is_huge = kernel.is_huge[page / hm_huge_pages()];
    *first = is_huge ? page / hm_huge_pages() * hm_huge_pages() : page;
    *count = is_huge ? hm_huge_pages() : 1;
}

/* Moves those of the entries `from` to `end` - 1 that are isolated to their nodes. Returns how many did not move (no
 * status is written then), or a negative errno. */
static long flush(void **pages, const int *to, int *status, const bool *isolated, size_t from, size_t end)
{
    long failed = 0;
    for (size_t i = from; i < end; i++) {
        unsigned first, count;
        if (!isolated[i])
            continue;
        if (to[i] == kernel.full)
            return -ENOMEM;
        whole(index_of(pages[i]), &first, &count);
        if (kernel.is_pinned[index_of(pages[i])])
            failed++;
        for (unsigned k = first; k < first + count && !kernel.is_pinned[index_of(pages[i])]; k++)
            kernel.node[k] = to[i];
    }
    for (size_t i = from; i < end && !failed; i++)
        if (isolated[i])
            status[i] = to[i];
    return failed;
}

/* Returns the status of entry i, or INT_MIN if its page has to be isolated. */
static int judge(void **pages, const int *to, const bool *isolated, size_t from, size_t i)
{
    unsigned page = index_of(pages[i]), first, count;
    whole(page, &first, &count);
    if (kernel.node[page] < 0)
        return kernel.node[page];
    if (kernel.is_shared[page] && !kernel.for_all)
        return -EACCES;
    if (kernel.node[page] == to[i])
        return to[i];
    for (size_t k = from; k < i; k++)
        if (isolated[k] && index_of(pages[k]) >= first && index_of(pages[k]) < first + count)
            return -EBUSY;
    return INT_MIN;
}

static long move(unsigned long count, void **pages, const int *to, int *status)
{
    bool *isolated = calloc(count, sizeof(*isolated));
    size_t from = 0;
    long result = 0;
    for (size_t i = 0; i <= count && result == 0; i++) {
        bool is_end = i == count;
        if (is_end || to[i] != to[from] || to[i] == kernel.closed) {
            result = flush(pages, to, status, isolated, from, i);
            from = i;
            if (result > 0)
                result += (long)(count - i);
            if (!is_end && result == 0 && to[i] == kernel.closed)
                result = -EACCES;
        }
        if (is_end || result != 0)
            break;
        int verdict = judge(pages, to, isolated, from, i);
        isolated[i] = verdict == INT_MIN;
        if (isolated[i])
            continue;
        status[i] = verdict;
        result = flush(pages, to, status, isolated, from, i);
        from = i + 1;
        if (result > 0)
            result += (long)(count - i - 1);
    }
    free(isolated);
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

static void check(int pid, unsigned long count, const int *status)
{
    assert_int_equal(pid, MODEL_PID);
    assert_true(count > 0 && count <= HM_BATCH_PAGES);
    for (unsigned long i = 0; i < count; i++)
        /* the caller fills `status` first, so that an old value cannot be taken for an answer */
        assert_int_equal(status[i], INT_MIN);
}

static long submit(unsigned long count, void **pages, const int *to, int *status)
{
    kernel.moves++;
    double took_s = (double)count * kernel.page_s;
    kernel.took_s += took_s;
    kernel.longest_s = took_s > kernel.longest_s ? took_s : kernel.longest_s;
    for (unsigned long i = 0; i < count; i++) {
        assert_true(i == 0 || to[i] >= to[i - 1]); /* sorted by destination */
        assert_true(i == 0 || to[i] > to[i - 1] || pages[i] > pages[i - 1]);
        assert_int_not_equal(kernel.node[index_of(pages[i])], ABSENT);
        kernel.submitted[index_of(pages[i])]++;
        kernel.n_submitted++;
    }
    if (kernel.result) {
        errno = kernel.result;
        return -1;
    }
    return move(count, pages, to, status);
}

long hm_powers_move_all(pid_t pid, unsigned long count, void **page, const int *node, int *status)
{
    check((int)pid, count, status);
    kernel.for_all = true;
    kernel.n_for_all += count;
    long result = submit(count, page, node, status);
    kernel.for_all = false;
    return result;
}

long __wrap_move_pages(int pid, unsigned long count, void **pages, const int *to, int *status, int flags)
{
    check(pid, count, status);
    if (!to) {
        kernel.n_asked += count;
        for (unsigned long i = 0; i < count; i++)
            status[i] = kernel.node[index_of(pages[i])];
        return 0;
    }
    assert_int_equal(flags, 2); /* MPOL_MF_MOVE: pages that others have mapped must not move */
    return submit(count, pages, to, status);
}

void hm_present_open(struct hm_present *present, pid_t pid, uint64_t mapped)
{
    (void)mapped;
    assert_int_equal(pid, MODEL_PID);
    present->pagemap = PAGEMAP;
    kernel.n_opened++;
}

void hm_present_close(struct hm_present *present)
{
    present->pagemap = -1;
}

/* Returns one page at a time, so that nothing may rely on more. */
int __wrap_ioctl(int fd, unsigned long request, void *argument)
{
    struct hm_present_scan *scan = argument;
    assert_int_equal(fd, PAGEMAP);
    assert_true(request == HM_PRESENT_SCAN && scan->vec_len > 0);
    for (uint64_t page = scan->start >> hm_page_shift(); page < scan->end >> hm_page_shift(); page++) {
        if (page < FIRST || page >= FIRST + PAGES || kernel.node[page - FIRST] == ABSENT)
            continue;
        uint64_t categories = PAGE_PRESENT | (kernel.is_huge[(page - FIRST) / hm_huge_pages()] ? PAGE_HUGE : 0);
        categories |= kernel.is_file[page - FIRST] ? PAGE_FILE : 0;
        assert_true(scan->return_mask == (PAGE_FILE | PAGE_PRESENT | PAGE_HUGE));
        scan->walk_end = (page + 1) << hm_page_shift();
        *(struct hm_present_range *)(uintptr_t)scan->vec =
            (struct hm_present_range){page << hm_page_shift(), scan->walk_end, categories};
        return 1;
    }
    scan->walk_end = scan->end;
    return 0;
}

ssize_t __wrap_pread(int fd, void *out, size_t size, off_t at)
{
    uint64_t *entry = out, first = (uint64_t)at / sizeof(*entry);
    assert_int_equal(fd, PAGEMAP);
    assert_true(first >= FIRST && first + size / sizeof(*entry) <= FIRST + PAGES);
    for (size_t i = 0; i < size / sizeof(*entry); i++) {
        uint64_t page = first - FIRST + i;
        entry[i] = (kernel.node[page] == ABSENT ? 0 : HM_MARK_PRESENT) | (kernel.is_file[page] ? HM_MARK_FILE : 0) |
                   (kernel.is_shared[page] ? 0 : HM_MARK_ALONE);
    }
    return (ssize_t)size;
}
