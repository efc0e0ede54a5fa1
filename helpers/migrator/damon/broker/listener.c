/* SPDX-License-Identifier: Apache-2.0 */
#include "listener.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/flock.h"
#include "clients.h"
#include "migrator/damon/wire.h"

#define LOCK "damon.lock"
#define LOCK_PATIENCE_MS 5000
#define LOCK_PAUSE_MS 20

static int name_socket(const char *run_dir, struct sockaddr_un *address, struct hm_error *error)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int length = snprintf(address->sun_path, sizeof(address->sun_path), "%s/" HM_DAMON_SOCKET, run_dir);
    if (length >= (int)sizeof(address->sun_path))
        return hm_fail(error, ENAMETOOLONG, "%s is too long for a socket's folder", run_dir);
    return 0;
}

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static bool is_listening(const char *run_dir)
{
    struct sockaddr_un address;
    int fd = name_socket(run_dir, &address, NULL) == 0 ? open_socket() : -1;
    bool answers = fd >= 0 && (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return answers;
}

/* Takes the lock. Waits for a holder that does not listen: it is starting or ending. Returns false if the holder
 * listens, or still has the lock after LOCK_PATIENCE_MS. */
static bool take_lock(int fd, const char *run_dir)
{
    for (int waited_ms = 0; hm_flock_try(fd) != 0; waited_ms += LOCK_PAUSE_MS) {
        if (waited_ms >= LOCK_PATIENCE_MS || is_listening(run_dir))
            return false;
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return true;
}

int hm_damon_listener_lock(const char *run_dir, bool may_wait, struct hm_error *error)
{
    char path[300];
    struct stat status;
    if (stat(run_dir, &status) != 0)
        return hm_fail_errno(error, "cannot use the folder %s", run_dir);
    if (status.st_uid != 0 || (status.st_mode & 022) != 0)
        return hm_fail(error, EPERM, "the folder %s must belong to root and be writable by nobody else", run_dir);
    snprintf(path, sizeof(path), "%s/" LOCK, run_dir);
    int fd = hm_flock_open(AT_FDCWD, path);
    if (fd < 0)
        return hm_fail_errno(error, "cannot open %s", path);
    if (may_wait ? take_lock(fd, run_dir) : hm_flock_try(fd) == 0)
        return fd;
    hm_fail(error, EBUSY, "another broker runs in %s", run_dir);
    close(fd);
    return -1;
}

int hm_damon_listener_open(const char *run_dir, struct hm_error *error)
{
    struct sockaddr_un address;
    if (name_socket(run_dir, &address, error) != 0)
        return -1;
    int fd = open_socket();
    if (fd >= 0 && (unlink(address.sun_path) == 0 || errno == ENOENT) &&
        bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && chmod(address.sun_path, 0666) == 0 &&
        listen(fd, HM_DAMON_CLIENTS) == 0)
        return fd;
    hm_fail_errno(error, "cannot listen on %s", address.sun_path);
    if (fd >= 0)
        close(fd);
    return -1;
}

void hm_damon_listener_close(int listener)
{
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    if (getsockname(listener, (struct sockaddr *)&address, &length) == 0)
        unlink(address.sun_path);
    close(listener);
}
