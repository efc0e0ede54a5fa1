/* SPDX-License-Identifier: Apache-2.0 */
#include "nextfork.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define PUBLIC __attribute__((visibility("default")))

/* pthread_atfork is in each program and library itself, and calls this function of libc. */
int __register_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void), void *object);

typedef int function(void (*)(void), void (*)(void), void (*)(void), void *);
static function *_Atomic next;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_bool has_begun;

/* `object` is NULL, as the library is never unloaded. */
static void register_own(void)
{
    function *add = next;
    int status = 0;
    for (size_t i = 0; hm_fork_handlers[i] && status == 0; i++)
        status = add(hm_fork_handlers[i]->before, hm_fork_handlers[i]->after, hm_fork_handlers[i]->in_child, NULL);
    atomic_store(&has_begun, status == 0);
}

/* The look-up is not in the once, as another thread that waits for this one may have the loader's lock. It may
 * allocate, and so come here again. */
bool hm_fork_begin(void)
{
    static _Thread_local bool is_beginning;
    if (atomic_load(&has_begun))
        return true;
    if (is_beginning)
        return false;
    int number = errno;
    is_beginning = true;
    next = (function *)(uintptr_t)dlsym(RTLD_NEXT, "__register_atfork");
    if (next)
        pthread_once(&once, register_own);
    is_beginning = false;
    errno = number;
    return atomic_load(&has_begun);
}

PUBLIC int __register_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void), void *object)
{
    hm_fork_begin();
    function *add = next;
    return add ? add(before, after, in_child, object) : ENOMEM;
}
