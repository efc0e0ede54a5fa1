/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into hybridmem-namespace: it counts the program's steps, and can end or stop the program before one of
 * them. A step is a call by which the program changes something outside of itself: it writes to sysfs (all that
 * libndctl does), wipes, syncs a file, starts a child or waits for it, mounts or unmounts, gets a mount namespace of
 * its own, or changes an owner or a mode.
 *
 *     STEPS_LOG=FILE   append the name of each step
 *     STEPS_KILL=N     SIGKILL before the N-th step, or before the first step that N names; a wipe is half done by then
 *     STEPS_SIGNAL=S   signal S in place of SIGKILL
 *     STEPS_CLOCK=S    all clocks are S seconds ahead: from the beginning on or, with STEPS_KILL, from that step on
 *     STEPS_NO_DAX=1   no file is a DAX one
 *     STEPS_NO_WIPE=1  a wipe does nothing, and the device reads as zeros
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static pid_t program; /* hybridmem-namespace's process id */

/* Shared with the program's children: a call of theirs is a step, too, unless they have executed another program. */
struct seen {
    int count;
    int is_over; /* the step of STEPS_KILL was reached */
};
static struct seen at_first, *seen = &at_first;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void)
{
    program = getpid();
    void *shared = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        abort();
    seen = shared;
}

/* Counts and logs a step. Returns 1 if the signal has to be sent before it. */
static int is_last(const char *name)
{
    const char *log = getenv("STEPS_LOG"), *kill_at = getenv("STEPS_KILL");
    FILE *file = log ? fopen(log, "a") : NULL;
    if (file) {
        fprintf(file, "%s\n", name);
        fclose(file);
    }
    seen->count++;
    if (seen->is_over || !kill_at || (seen->count != atoi(kill_at) && strcmp(name, kill_at) != 0))
        return 0;
    seen->is_over = 1;
    return 1;
}

static void end(void)
{
    const char *other = getenv("STEPS_SIGNAL");
    kill(program, other ? atoi(other) : SIGKILL);
    if (!other)
        kill(getpid(), SIGKILL); /* a child that takes this step */
}

static void step(const char *name)
{
    if (is_last(name))
        end();
}

static time_t seconds_ahead(void)
{
    const char *ahead = getenv("STEPS_CLOCK");
    return ahead && (seen->is_over || !getenv("STEPS_KILL")) ? atol(ahead) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = REAL(clock_gettime)(clock, now);
    now->tv_sec += seconds_ahead();
    return result;
}

time_t time(time_t *out)
{
    time_t now = REAL(time)(NULL) + seconds_ahead();
    if (out)
        *out = now;
    return now;
}

ssize_t write(int fd, const void *data, size_t size)
{
    char link[32], path[256] = "";
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length > 0 && strncmp(path, "/sys/", 5) == 0)
        step(path);
    return REAL(write)(fd, data, size);
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (request == BLKZEROOUT) {
        uint64_t half[2];
        memcpy(half, argument, sizeof(half));
        half[1] = half[1] / 2 & ~UINT64_C(4095);
        if (getenv("STEPS_NO_WIPE"))
            return 0;
        if (is_last("BLKZEROOUT")) {
            REAL(ioctl)(fd, request, half);
            end();
        }
    }
    return REAL(ioctl)(fd, request, argument);
}

ssize_t pread(int fd, void *data, size_t size, off_t at)
{
    struct stat status;
    ssize_t got = REAL(pread)(fd, data, size, at);
    if (getenv("STEPS_NO_WIPE") && got > 0 && fstat(fd, &status) == 0 && S_ISBLK(status.st_mode))
        memset(data, 0, (size_t)got);
    return got;
}

int statx(int at, const char *path, int flags, unsigned mask, struct statx *status)
{
    int result = REAL(statx)(at, path, flags, mask, status);
    if (getenv("STEPS_NO_DAX"))
        status->stx_attributes = 0;
    return result;
}

pid_t fork(void)
{
    step("fork");
    return REAL(fork)();
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    step("waitpid");
    return REAL(waitpid)(pid, status, options);
}

int fsync(int fd)
{
    step("fsync");
    return REAL(fsync)(fd);
}

int unshare(int flags)
{
    step("unshare");
    return REAL(unshare)(flags);
}

int mount(const char *source, const char *target, const char *type, unsigned long flags, const void *data)
{
    step("mount");
    return REAL(mount)(source, target, type, flags, data);
}

int umount2(const char *target, int flags)
{
    step("umount2");
    return REAL(umount2)(target, flags);
}

int fchown(int fd, uid_t owner, gid_t group)
{
    step("fchown");
    return REAL(fchown)(fd, owner, group);
}

int fchmod(int fd, mode_t mode)
{
    step("fchmod");
    return REAL(fchmod)(fd, mode);
}
