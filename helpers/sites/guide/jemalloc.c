/* SPDX-License-Identifier: Apache-2.0 */
/* What jemalloc calls instead of functions of libc. */
#include "jemalloc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

int hm_jemalloc_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void));
void *hm_jemalloc_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
char *hm_jemalloc_getenv(const char *name);
ssize_t hm_jemalloc_readlink(const char *path, char *text, size_t bytes);
double hm_jemalloc_exp(double x);
double hm_jemalloc_log(double x);
double hm_jemalloc_round(double x);

/* The arena that it makes by itself is for its own data. */
extern const char *hm_jemalloc_conf;
const char *hm_jemalloc_conf = "narenas:1,retain:true,dss:disabled";

struct hm_jemalloc_fork hm_jemalloc_fork;

/* They are called by arena.c, as handlers of others may allocate between them. */
int hm_jemalloc_atfork(void (*before)(void), void (*after)(void), void (*in_child)(void))
{
    hm_jemalloc_fork = (struct hm_jemalloc_fork){before, after, in_child};
    return 0;
}

/* Not the mmap of this library: that asks the loader, whose lock another thread may have while it waits for jemalloc's.
 */
void *hm_jemalloc_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

/* MALLOC_CONF and /etc/malloc.conf are for a jemalloc of the program's. */
char *hm_jemalloc_getenv(const char *name)
{
    (void)name;
    return NULL;
}

ssize_t hm_jemalloc_readlink(const char *path, char *text, size_t bytes)
{
    (void)path;
    (void)text;
    (void)bytes;
    errno = ENOENT;
    return -1;
}

/* Only its profiler, which is off, calls these; they are not in libc. */
double hm_jemalloc_exp(double x)
{
    (void)x;
    abort();
}

double hm_jemalloc_log(double x)
{
    (void)x;
    abort();
}

double hm_jemalloc_round(double x)
{
    (void)x;
    abort();
}
