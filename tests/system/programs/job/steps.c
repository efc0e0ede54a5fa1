/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that a test preloads into hybridmem-job. It counts the program's steps, and can kill the program before one
 * of them. A step is a call by which the program changes something outside of itself: it makes, writes, renames or
 * removes files and folders, changes their owner or mode, starts programs, waits for them, or sends signals. A write is
 * a step only below /run, /var and /sys. mkdir of a folder that is there already, and unlink of a file that is not
 * there, change nothing and are no steps; nor are calls that are not wrapped below (symlinkat, renameat2). Steps of
 * programs that hybridmem-job starts are not counted, as those have an environment of their own.
 *
 *     STEPS_LOG=FILE   append the name of each step
 *     STEPS_KILL=N     SIGKILL before the N-th step
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static pid_t program; /* hybridmem-job's process id: what its children do before exec is no step */
static int count;
static int is_looking; /* set during our own calls, which are no steps either */

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void)
{
    program = getpid();
}

static void step(const char *name, const char *of)
{
    const char *log = getenv("STEPS_LOG"), *kill_at = getenv("STEPS_KILL");
    if (getpid() != program || is_looking)
        return;
    is_looking = 1;
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) {
        fprintf(file, "%s %s\n", name, of);
        fclose(file);
    }
    is_looking = 0;
    if (++count == (kill_at ? atoi(kill_at) : 0))
        kill(program, SIGKILL);
}

static int is_there(int at, const char *path)
{
    struct stat status;
    return fstatat(at, path, &status, AT_SYMLINK_NOFOLLOW) == 0;
}

static void step_open(int at, const char *path, int flags)
{
    if ((flags & O_TRUNC) || ((flags & O_CREAT) && !is_there(at, path)))
        step("create", path);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    step_open(AT_FDCWD, path, flags);
    return REAL(open)(path, flags, mode);
}

int openat(int at, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    step_open(at, path, flags);
    return REAL(openat)(at, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t size)
{
    static const char *const places[] = {"/run/", "/var/", "/sys/"};
    char link[32], path[256] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    for (size_t i = 0; length > 0 && i < sizeof(places) / sizeof(places[0]); i++)
        if (strncmp(path, places[i], strlen(places[i])) == 0)
            step("write", path);
    return REAL(write)(fd, data, size);
}

int renameat(int from, const char *old, int to, const char *new)
{
    step("rename", new);
    return REAL(renameat)(from, old, to, new);
}

int rename(const char *old, const char *new)
{
    step("rename", new);
    return REAL(rename)(old, new);
}

int unlinkat(int at, const char *path, int flags)
{
    if (is_there(at, path))
        step("remove", path);
    return REAL(unlinkat)(at, path, flags);
}

int unlink(const char *path)
{
    if (is_there(AT_FDCWD, path))
        step("remove", path);
    return REAL(unlink)(path);
}

int rmdir(const char *path)
{
    step("remove", path);
    return REAL(rmdir)(path);
}

int mkdirat(int at, const char *path, mode_t mode)
{
    if (!is_there(at, path))
        step("mkdir", path);
    return REAL(mkdirat)(at, path, mode);
}

int fchmod(int fd, mode_t mode)
{
    step("fchmod", "");
    return REAL(fchmod)(fd, mode);
}

int fchown(int fd, uid_t owner, gid_t group)
{
    step("fchown", "");
    return REAL(fchown)(fd, owner, group);
}

pid_t fork(void)
{
    step("fork", "");
    return REAL(fork)();
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    step("waitpid", "");
    return REAL(waitpid)(pid, status, options);
}

long syscall(long number, ...)
{
    long word[6];
    va_list arguments;
    va_start(arguments, number);
    for (int i = 0; i < 6; i++)
        word[i] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_pidfd_send_signal)
        step("signal", "");
    return REAL(syscall)(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
