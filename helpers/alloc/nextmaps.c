/* SPDX-License-Identifier: Apache-2.0 */
#include "nextmaps.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    void *(*mremap)(void *, size_t, size_t, int, ...);
    int (*dlclose)(void *);
} next;
static atomic_bool has_next;

#define FIND(name) (*(void **)(&next.name) = dlsym(RTLD_NEXT, #name))

/* Looks up the functions behind this library, once. False inside the look-up, and where one is missing. */
static bool find(void)
{
    static _Thread_local bool is_looking;
    if (atomic_load_explicit(&has_next, memory_order_acquire))
        return true;
    if (is_looking)
        return false;
    int number = errno;
    is_looking = true;
    bool is_found = FIND(mmap) && FIND(munmap) && FIND(mremap) && FIND(dlclose);
    is_looking = false;
    errno = number;
    if (is_found)
        atomic_store_explicit(&has_next, true, memory_order_release);
    return is_found;
}

/* In a child of a process with threads, the loader's lock may be one that nobody gives back. */
__attribute__((constructor)) static void begin(void)
{
    (void)find();
}

void *hm_next_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return find() ? next.mmap(address, bytes, protection, flags, fd, offset)
                  : (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

int hm_next_munmap(void *address, size_t bytes)
{
    return find() ? next.munmap(address, bytes) : (int)syscall(SYS_munmap, address, bytes);
}

void *hm_next_mremap(void *address, size_t bytes, size_t new_bytes, int flags, void *wanted)
{
    return find() ? next.mremap(address, bytes, new_bytes, flags, wanted)
                  : (void *)syscall(SYS_mremap, address, bytes, new_bytes, flags, wanted);
}

int hm_next_dlclose(void *handle)
{
    return find() ? next.dlclose(handle) : -1;
}
