/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of a guided program's own, and unloaded code. What they have of the fast tier counts until it is unmapped.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc/kernel.h"
#include "alloc/nextmaps.h"
#include "base/amount.h"
#include "base/pagesize.h"
#include "preload.h"
#include "sites/profile/slices.h"
#include "sites/record/stack.h"

#define PUBLIC __attribute__((visibility("default")))

/* Counts a mapping of a fast tier against the limits of that. */
static enum hm_limit_taken map(enum hm_guide_tier tier, const void *memory, size_t bytes)
{
    enum hm_limit_taken taken = HM_LIMIT_TAKEN;
    if (tier == HM_GUIDE_LIMITED)
        taken = hm_limit_map(&hm_guide_limited, memory, bytes);
    if (taken != HM_LIMIT_TAKEN)
        return taken;
    taken = hm_limit_map(&hm_guide_limit, memory, bytes);
    hm_guide_fit();
    if (taken != HM_LIMIT_TAKEN && tier == HM_GUIDE_LIMITED)
        hm_limit_unmap(&hm_guide_limited, memory, bytes);
    return taken;
}

static void unmap(const void *memory, size_t bytes)
{
    hm_limit_unmap(&hm_guide_limited, memory, bytes);
    hm_limit_unmap(&hm_guide_limit, memory, bytes);
}

struct mapping {
    char *memory;
    size_t bytes;
    size_t page_bytes;
    bool has_pages; /* from the beginning */
};

/* Bytes of a page of a mapping with these flags. A file may have to be read, where a thread can be cancelled; mmap must
 * not be such a place. */
static size_t page_bytes_of(int flags)
{
    int before;
    uint64_t bytes = 0;
    unsigned shift = (unsigned)flags >> MAP_HUGE_SHIFT & MAP_HUGE_MASK;
    if (!(flags & MAP_HUGETLB))
        return hm_page_size();
    if (shift > 0)
        return (size_t)1 << shift;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    bool is_known = hm_kernel_huge_bytes(&bytes) == 0 && bytes > 0;
    pthread_setcancelstate(before, NULL);
    return is_known ? bytes : hm_page_size();
}

/* Where a slice of a mapping begins, at a page; the one behind the last, at the mapping's end. */
static char *start_of(const struct mapping *new, int slice)
{
    size_t at = slice == HM_SLICES ? new->bytes + new->page_bytes - 1 : new->bytes / HM_SLICES *(size_t)slice;
    return new->memory + (at - at % new->page_bytes);
}

/* Places fast slices that follow each other together: those of them in front, where not all find room. Of a mapping
 * that is not divided, these are to be as much as of an allocation. Returns the slice behind what was placed;
 * HM_SLICES: there is no more room for it, too many mappings are known, or the kernel refuses it. */
static int place_slices(struct hm_preload_where where, const struct mapping *new, int slice, int end)
{
    char *from = start_of(new, slice);
    size_t least = where.slices == HM_SLICES_ALL ? hm_guide_least(where.tier, new->bytes) : 1;
    if (start_of(new, end) == from) /* no page begins in them */
        return end;
    for (; end > slice; end--) {
        size_t of_it = (size_t)(start_of(new, end) - from);
        enum hm_limit_taken taken = of_it < least ? HM_LIMIT_NO_ROOM : map(where.tier, from, of_it);
        if (taken == HM_LIMIT_NO_ROOM)
            continue;
        if (taken == HM_LIMIT_TAKEN && hm_guide_bind_fast(from, of_it, new->has_pages) == 0)
            return end;
        if (taken == HM_LIMIT_TAKEN)
            unmap(from, of_it);
        break;
    }
    return HM_SLICES;
}

static void place(struct hm_preload_where where, const struct mapping *new)
{
    for (int slice = 0, end; slice < HM_SLICES; slice = end) {
        bool is_fast = where.slices >> slice & 1;
        for (end = slice + 1; end < HM_SLICES && (where.slices >> end & 1) == is_fast; end++)
            ;
        if (is_fast)
            end = place_slices(where, new, slice, end);
    }
}

/* Gives back what was counted of a range: these parts of it. Returns of which tier they were. */
static enum hm_guide_tier take_out(const void *memory, size_t bytes, struct hm_limit_ranges *fast)
{
    bool is_limited = hm_limit_unmap(&hm_guide_limited, memory, bytes) > 0;
    bool is_fast = hm_limit_take_out(&hm_guide_limit, memory, bytes, fast) > 0;
    return is_limited ? HM_GUIDE_LIMITED : is_fast ? HM_GUIDE_FAST : HM_GUIDE_SLOW;
}

/* Counts the parts of a range that have their place already, where it has another size now. What it has grown by has
 * the policy of its end. */
static void note(enum hm_guide_tier tier, const char *memory, size_t bytes, size_t new_bytes,
                 const struct hm_limit_ranges *fast)
{
    for (size_t i = 0; i < fast->n && fast->range[i].from < new_bytes; i++) {
        size_t from = fast->range[i].from, to = fast->range[i].to >= bytes ? new_bytes : fast->range[i].to;
        to = (size_t)hm_least(to, new_bytes);
        hm_limit_note(&hm_guide_limit, memory + from, to - from);
        if (tier == HM_GUIDE_LIMITED)
            hm_limit_note(&hm_guide_limited, memory + from, to - from);
    }
}

/* Does the kernel refuse to unmap this range, as it begins within a page or is none? */
static bool is_refused(const void *address, size_t bytes)
{
    return (uintptr_t)address % hm_page_size() != 0 || bytes == 0;
}

PUBLIC void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *memory = hm_next_mmap(address, bytes, protection, flags, fd, offset);
    int number = errno;
    if (memory != MAP_FAILED && (flags & MAP_FIXED))
        unmap(memory, bytes);
    struct hm_preload_where where = {0};
    if (memory != MAP_FAILED && (flags & MAP_ANONYMOUS))
        where = hm_guide_where_of_mapping(bytes, __builtin_return_address(0));
    if (where.tier != HM_GUIDE_SLOW) {
        const struct mapping new = {memory, bytes, page_bytes_of(flags), (flags & (MAP_POPULATE | MAP_LOCKED)) != 0};
        place(where, &new);
    }
    errno = number;
    return memory;
}

PUBLIC void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));

/* Before it is unmapped, as another thread may have the addresses then. */
PUBLIC int munmap(void *address, size_t bytes)
{
    if (!is_refused(address, bytes))
        unmap(address, bytes);
    return hm_next_munmap(address, bytes);
}

/* Where the next part of a policy of its own begins, or ends. */
static size_t border_after(size_t at, size_t bytes, const struct hm_limit_ranges *fast)
{
    for (size_t i = 0; i < fast->n; i++)
        for (int is_end = 0; is_end < 2; is_end++) {
            size_t border = is_end ? fast->range[i].to : fast->range[i].from;
            if (border > at)
                return (size_t)hm_least(border, bytes);
        }
    return bytes;
}

/* Moves memory by its parts, of which the last one grows; `keep`: MREMAP_DONTUNMAP, or 0. Returns how many bytes were
 * moved; fewer with errno. */
static size_t move(char *from, char *to, size_t bytes, size_t new_bytes, int keep, const struct hm_limit_ranges *fast)
{
    size_t at = 0;
    for (size_t end; at < bytes; at = end) {
        end = border_after(at, bytes, fast);
        if (syscall(SYS_mremap, from + at, end - at, (end < bytes ? end : new_bytes) - at,
                    MREMAP_MAYMOVE | MREMAP_FIXED | keep, to + at) == -1)
            break;
    }
    return at;
}

/* The kernel moves memory of one policy only: a mapping with fast slices is moved by these. All is moved, or nothing.
 * Sizes are of whole pages; returns as mremap does. */
static void *move_divided(char *memory, size_t bytes, size_t new_bytes, int flags, void *wanted,
                          const struct hm_limit_ranges *fast)
{
    size_t kept = (size_t)hm_least(bytes, new_bytes);
    char *to =
        (char *)syscall(SYS_mmap, wanted, new_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (flags & MREMAP_FIXED ? MAP_FIXED : 0), -1, 0);
    if (to == MAP_FAILED)
        return MAP_FAILED;
    size_t moved = move(memory, to, kept, new_bytes, flags & MREMAP_DONTUNMAP, fast);
    if (moved == kept) {
        if (kept < bytes)
            syscall(SYS_munmap, memory + kept, bytes - kept);
        return to;
    }
    int number = errno;
    move(to, memory, moved, moved, 0, fast);
    syscall(SYS_munmap, to, new_bytes);
    errno = number;
    return MAP_FAILED;
}

/* The kernel lets memory of one policy only grow: of a mapping with fast slices, its last part. */
static void *grow_in_place(char *memory, size_t bytes, size_t new_bytes, const struct hm_limit_ranges *fast)
{
    size_t last = 0;
    for (size_t end; (end = border_after(last, bytes, fast)) < bytes;)
        last = end;
    bool has_grown = syscall(SYS_mremap, memory + last, bytes - last, new_bytes - last, 0) != -1;
    return has_grown ? memory : MAP_FAILED;
}

/* mremap of a divided mapping, for which the kernel has refused it. Sizes are of whole pages. */
static void *remap_divided(char *memory, size_t bytes, size_t new_bytes, int flags, void *wanted,
                           const struct hm_limit_ranges *fast)
{
    void *remapped = MAP_FAILED;
    if (new_bytes > bytes && !(flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)))
        remapped = grow_in_place(memory, bytes, new_bytes, fast);
    if (remapped == MAP_FAILED && (flags & MREMAP_MAYMOVE))
        remapped = move_divided(memory, bytes, new_bytes, flags, wanted, fast);
    return remapped;
}

/* Is a part of the range fast, and another is not? */
static bool is_divided(size_t bytes, const struct hm_limit_ranges *fast)
{
    return fast->n > 0 && (fast->n > 1 || fast->range[0].from > 0 || fast->range[0].to < bytes);
}

/* The kernel gives what a range grows by the policy of its end. Where that is fast, and the limits have no room for so
 * much more, it is where the process's policy has it. Returns how large the range is that has its own policies. */
static size_t grow(enum hm_guide_tier tier, char *memory, size_t bytes, size_t new_bytes,
                   const struct hm_limit_ranges *fast)
{
    size_t before = hm_whole_pages(bytes), more = (size_t)hm_less(hm_whole_pages(new_bytes), before), all = more;
    if (more == 0 || fast->n == 0 || fast->range[fast->n - 1].to < bytes)
        return new_bytes;
    for (size_t i = 0; i < fast->n; i++)
        all += fast->range[i].to - fast->range[i].from;
    uint64_t taken = hm_guide_take(tier, all, all);
    hm_guide_give(tier, taken); /* the ranges are counted as a whole */
    return taken == 0 && hm_kernel_default(memory + before, more) == 0 ? bytes : new_bytes;
}

/* The policy goes with the memory. */
PUBLIC void *mremap(void *address, size_t bytes, size_t new_bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *wanted = flags & HM_NEXT_WANTED ? va_arg(more, void *) : NULL;
    va_end(more);
    struct hm_limit_ranges fast = {0};
    enum hm_guide_tier tier = is_refused(address, bytes) ? HM_GUIDE_SLOW : take_out(address, bytes, &fast);
    void *memory = hm_next_mremap(address, bytes, new_bytes, flags, wanted);
    if (memory == MAP_FAILED && errno == EFAULT && is_divided(bytes, &fast))
        memory = remap_divided(address, hm_whole_pages(bytes), hm_whole_pages(new_bytes), flags, wanted, &fast);
    bool is_moved = memory != MAP_FAILED;
    if (is_moved && (flags & MREMAP_FIXED)) /* what was there is unmapped */
        unmap(wanted, new_bytes);
    if (tier != HM_GUIDE_SLOW && is_moved)
        note(tier, memory, bytes, grow(tier, memory, bytes, new_bytes, &fast), &fast);
    if (tier != HM_GUIDE_SLOW && (!is_moved || flags & MREMAP_DONTUNMAP)) /* new pages of it are fast, too */
        note(tier, address, bytes, bytes, &fast);
    return memory;
}

PUBLIC int dlclose(void *handle)
{
    hm_stack_hold();
    int status = hm_next_dlclose(handle);
    hm_stack_forget();
    hm_guide_forget_code();
    return status;
}
