/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of the product that can meet a fault (faults.h), as the linker's --wrap leads them here. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults.h"

/* Declares a function that the linker has replaced, and the one in its place. */
#define WRAPPED(type, name, ...)                                                                                       \
    type __real_##name(__VA_ARGS__);                                                                                   \
    type __wrap_##name(__VA_ARGS__);

WRAPPED(void *, malloc, size_t size)
WRAPPED(void *, calloc, size_t n, size_t size)
WRAPPED(void *, realloc, void *old, size_t size)
WRAPPED(char *, json_dumps, const void *json, size_t flags)
WRAPPED(int, open, const char *path, int flags, ...)
WRAPPED(int, openat, int at, const char *path, int flags, ...)
WRAPPED(DIR *, opendir, const char *path)
WRAPPED(DIR *, fdopendir, int fd)
WRAPPED(ssize_t, write, int fd, const void *data, size_t size)
WRAPPED(ssize_t, pwrite, int fd, const void *data, size_t size, off_t offset)
WRAPPED(int, posix_fallocate, int fd, off_t offset, off_t size)
WRAPPED(int, fsync, int fd)
WRAPPED(int, ftruncate, int fd, off_t size)
WRAPPED(int, mkdirat, int at, const char *path, mode_t mode)
WRAPPED(int, symlinkat, const char *to, int at, const char *path)
WRAPPED(int, renameat, int from_at, const char *from, int to_at, const char *to)
WRAPPED(int, renameat2, int from_at, const char *from, int to_at, const char *to, unsigned flags)
WRAPPED(int, unlinkat, int at, const char *path, int flags)
WRAPPED(int, unlink, const char *path)
WRAPPED(int, rmdir, const char *path)
WRAPPED(int, flock, int fd, int operation)

/* The faults that a call can meet if it changes a file, and if it also needs room on the disk for that. */
#define CHANGES FAULT(FAULT_KILL)
#define MAKES (FAULT(FAULT_KILL) | FAULT(FAULT_DISK))

/* Returns true, with errno, where the call is to fail. */
static bool fails(unsigned kinds, const char *call)
{
    int number = faults_meet(kinds, call);
    if (number)
        errno = number;
    return number;
}

/* Returns the faults that a call can meet if it may make the file `path`: none if the file exists. */
static unsigned makes(int at, const char *path)
{
    struct stat status;
    return fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : MAKES;
}

void *__wrap_malloc(size_t size)
{
    return fails(FAULT(FAULT_MEMORY), "malloc") ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(FAULT(FAULT_MEMORY), "calloc") ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return fails(FAULT(FAULT_MEMORY), "realloc") ? NULL : __real_realloc(old, size);
}

char *__wrap_json_dumps(const void *json, size_t flags)
{
    return fails(FAULT(FAULT_MEMORY), "json_dumps") ? NULL : __real_json_dumps(json, flags);
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

/* Some files of a test stand for files of the kernel. O_TRUNC has no effect on those, so it is left out. */
int __wrap_open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    if (fails(FAULT(FAULT_FILES) | (flags & O_CREAT ? makes(AT_FDCWD, path) : 0), "open"))
        return -1;
    return __real_open(path, faults_runs(getpid()) ? flags & ~O_TRUNC : flags, mode);
}

/* Folders, and files that are only looked at (O_PATH), meet no fault here: many files are opened after such a call, and
 * if that call fails, the effect is the same as if the file's own opening failed. */
int __wrap_openat(int at, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    unsigned kinds = flags & (O_DIRECTORY | O_PATH) ? 0 : FAULT(FAULT_FILES);
    if (fails(kinds | (flags & O_CREAT ? makes(at, path) : 0), "openat"))
        return -1;
    return __real_openat(at, path, flags, mode);
}

/* /proc is hidden: a test must not depend on what runs on the machine, and looking through it takes long. */
DIR *__wrap_opendir(const char *path)
{
    if (strcmp(path, "/proc") == 0) {
        errno = ENOENT;
        return NULL;
    }
    return fails(FAULT(FAULT_FILES), "opendir") ? NULL : __real_opendir(path);
}

DIR *__wrap_fdopendir(int fd)
{
    return fails(FAULT(FAULT_MEMORY), "fdopendir") ? NULL : __real_fdopendir(fd);
}

/* Where the fault is due, only half of the data is written: a full disk takes a part, and a kill may come in the middle
 * of a write. */
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    bool is_due = faults_are_due(MAKES);
    ssize_t written = __real_write(fd, data, is_due ? size / 2 : size);
    return fails(MAKES, "write") && written <= 0 ? -1 : written;
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return fails(MAKES, "pwrite") ? -1 : __real_pwrite(fd, data, size, offset);
}

int __wrap_posix_fallocate(int fd, off_t offset, off_t size)
{
    int number = faults_meet(MAKES, "posix_fallocate");
    return number ? number : __real_posix_fallocate(fd, offset, size);
}

/* Flushes nothing: no file of a test has to outlive the machine, and flushing takes long. */
int __wrap_fsync(int fd)
{
    (void)fd;
    return fails(FAULT(FAULT_DISK), "fsync") ? -1 : 0;
}

int __wrap_ftruncate(int fd, off_t size)
{
    return fails(CHANGES, "ftruncate") ? -1 : __real_ftruncate(fd, size);
}

int __wrap_mkdirat(int at, const char *path, mode_t mode)
{
    return fails(makes(at, path), "mkdirat") ? -1 : __real_mkdirat(at, path, mode);
}

int __wrap_symlinkat(const char *to, int at, const char *path)
{
    return fails(makes(at, path), "symlinkat") ? -1 : __real_symlinkat(to, at, path);
}

int __wrap_renameat(int from_at, const char *from, int to_at, const char *to)
{
    return fails(MAKES, "renameat") ? -1 : __real_renameat(from_at, from, to_at, to);
}

int __wrap_renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
    return fails(MAKES, "renameat2") ? -1 : __real_renameat2(from_at, from, to_at, to, flags);
}

int __wrap_unlinkat(int at, const char *path, int flags)
{
    return fails(CHANGES, "unlinkat") ? -1 : __real_unlinkat(at, path, flags);
}

int __wrap_unlink(const char *path)
{
    return fails(CHANGES, "unlink") ? -1 : __real_unlink(path);
}

int __wrap_rmdir(const char *path)
{
    return fails(CHANGES, "rmdir") ? -1 : __real_rmdir(path);
}

int __wrap_flock(int fd, int operation)
{
    if ((operation & LOCK_EX) && fails(FAULT(FAULT_LOCK), "flock"))
        return -1;
    return __real_flock(fd, operation);
}
