/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of a guided program's own, and unloaded code. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "alloc/hybridmem.h"
#include "alloc/kernel.h"
#include "preload.h"

#define PUBLIC __attribute__((visibility("default")))

static struct {
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*dlclose)(void *);
} others;
static atomic_bool has_others;

#define FIND(name) (*(void **)(&others.name) = dlsym(RTLD_NEXT, #name))

/* Looks up the functions behind this library, once. False inside the look-up, and where one is missing. */
static bool find_others(void)
{
    static _Thread_local bool is_looking;
    if (atomic_load_explicit(&has_others, memory_order_acquire))
        return true;
    if (is_looking)
        return false;
    int number = errno;
    is_looking = true;
    bool is_found = FIND(mmap) && FIND(dlclose);
    is_looking = false;
    errno = number;
    if (is_found)
        atomic_store_explicit(&has_others, true, memory_order_release);
    return is_found;
}

/* One node is preferred, as for an allocation; several are taken in turn. Where they are full, the kernel takes the
 * nearest others. Where it refuses, the memory is where the process's policy has it. */
static void bind_fast(void *memory, size_t bytes)
{
    const struct hm_set *nodes = hm_guide_fast_nodes();
    if (hm_set_count(nodes) == 1)
        (void)hm_kernel_prefer(memory, bytes, hm_set_next(nodes, 0));
    else
        (void)syscall(SYS_mbind, memory, bytes, MPOL_INTERLEAVE | MPOL_F_STATIC_NODES, nodes->word,
                      (unsigned long)HM_SET_BITS, 0UL);
}

PUBLIC void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    void *memory = find_others() ? others.mmap(address, bytes, protection, flags, fd, offset)
                                 : (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
    int number = errno;
    if (memory != MAP_FAILED && (flags & MAP_ANONYMOUS) && bytes >= HM_ALLOC_LEAST &&
        hm_guide_is_fast(__builtin_return_address(0)))
        bind_fast(memory, bytes);
    errno = number;
    return memory;
}

PUBLIC void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));

PUBLIC int dlclose(void *handle)
{
    int status = find_others() ? others.dlclose(handle) : -1;
    hm_guide_forget_code();
    return status;
}
