/* SPDX-License-Identifier: Apache-2.0 */
#include "next.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define ARENA 65536
#define ALIGN 16

struct hm_next hm_next;

/* Memory for the loader while it looks up the next library's functions: some versions of dlsym allocate. It is never
 * freed. */
static _Alignas(ALIGN) char arena[ARENA];
static atomic_size_t arena_used;

void *hm_arena_take(size_t bytes)
{
    size_t whole = (bytes + 2 * ALIGN - 1) / ALIGN * ALIGN; /* with room for the size before it */
    size_t start = bytes <= ARENA ? atomic_fetch_add(&arena_used, whole) : ARENA;
    if (start >= ARENA || whole > ARENA - start) {
        errno = ENOMEM;
        return NULL;
    }
    memcpy(arena + start, &bytes, sizeof(bytes));
    return arena + start + ALIGN;
}

bool hm_arena_has(const void *memory)
{
    return (const char *)memory >= arena && (const char *)memory < arena + ARENA;
}

size_t hm_arena_bytes(const void *memory)
{
    size_t bytes;
    memcpy(&bytes, (const char *)memory - ALIGN, sizeof(bytes));
    return bytes;
}

/* dlsym returns functions as void *, as POSIX allows. */
#define FIND(name) (*(void **)(&hm_next.name) = dlsym(RTLD_NEXT, #name))

/* A library may have malloc, calloc, realloc and free alone, as glibc's manual allows: all else is then libc's. */
static bool is_of_one_library(const void *one, const void *other)
{
    Dl_info info, of_other;
    return dladdr(one, &info) && dladdr(other, &of_other) && info.dli_fbase == of_other.dli_fbase;
}

/* dlsym's functions are void * here again. */
static bool knows_sizes(void)
{
    return is_of_one_library((const void *)(uintptr_t)hm_next.malloc,
                             (const void *)(uintptr_t)hm_next.malloc_usable_size);
}

bool hm_next_find(void)
{
    static _Thread_local bool is_looking;
    if (is_looking)
        return false;
    int number = errno;
    is_looking = true;
    bool is_found = FIND(malloc) && FIND(calloc) && FIND(realloc) && FIND(free) && FIND(memalign) &&
                    FIND(aligned_alloc) && FIND(posix_memalign) && FIND(malloc_usable_size);
    hm_next.knows_sizes = is_found && knows_sizes();
    is_looking = false;
    if (!is_found) {
        static const char before[] = "hybridmem: no other malloc was found: ", after[] = " cannot be used here\n";
        const struct iovec text[] = {{(void *)(uintptr_t)before, sizeof(before) - 1},
                                     {(void *)(uintptr_t)hm_next_library, strlen(hm_next_library)},
                                     {(void *)(uintptr_t)after, sizeof(after) - 1}};
        if (writev(STDERR_FILENO, text, 3) < 0)
            abort(); /* here too, because the compiler wants the result of writev to be used */
        abort();
    }
    atomic_store_explicit(&hm_next.is_found, true, memory_order_release);
    errno = number;
    return true;
}
