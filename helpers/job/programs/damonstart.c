/* SPDX-License-Identifier: Apache-2.0 */
#include "damonstart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/flock.h"
#include "base/rundir.h"
#include "base/spawn.h"
#include "job/ledger/hurry.h"
#include "job/ledger/log.h"
#include "migrator/damon/folder.h"
#include "migrator/damon/wire.h"

#define PROGRAM HM_LIBEXECDIR "/hybridmem-damon"
#define PATIENCE_MS 10000
#define CLEAN_PATIENCE_MS 5000
#define PATH_SIZE (HM_CONFIG_PATH_MAX + 32)

char *hm_damon_socket_path(const struct hm_config *config, char *out, size_t size)
{
    snprintf(out, size, "%s/" HM_DAMON_SOCKET, config->run_dir);
    return out;
}

/* Does a broker listen? connect() to a socket without a listener is refused at once. */
static bool is_listening(const struct hm_config *config)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char path[PATH_SIZE];
    hm_damon_socket_path(config, path, sizeof(path));
    if (strlen(path) >= sizeof(address.sun_path))
        return false;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* EAGAIN: the queue of connections is full, so somebody listens. */
    bool answers = fd >= 0 && (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return answers;
}

static int lock_start(const struct hm_config *config, struct hm_error *error)
{
    char path[PATH_SIZE];
    int node = hm_damon_folder_open(config->run_dir, error);
    int fd = hm_rundir_open_lock(node, config->run_dir, HM_DAMON_START, error);
    if (fd < 0 || hm_flock_wait(fd, PATIENCE_MS) == 0)
        return fd;
    hm_fail_errno(error, "cannot lock %s within %d s",
                  hm_rundir_node_path(config->run_dir, HM_DAMON_START, path, sizeof(path)), PATIENCE_MS / 1000);
    close(fd);
    return -1;
}

/*
 * Waits until the broker listens, which it shows by closing its standard error. What it writes there before is the
 * reason why it has failed. Returns 0 or -1.
 */
static int hear(int fd, struct hm_error *error)
{
    char text[256];
    size_t have = 0;
    struct pollfd said = {.fd = fd, .events = POLLIN};
    int64_t end_ms = hm_clock_ms(CLOCK_MONOTONIC) + PATIENCE_MS;
    for (;;) {
        int64_t left_ms = end_ms - hm_clock_ms(CLOCK_MONOTONIC);
        if (poll(&said, 1, left_ms > 0 ? (int)left_ms : 0) <= 0)
            return hm_fail(error, ETIMEDOUT, "the DAMON broker did not get ready within %d s", PATIENCE_MS / 1000);
        ssize_t got = read(fd, text + have, sizeof(text) - 1 - have);
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    text[have] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return have == 0 ? 0 : hm_fail(error, ECHILD, "the DAMON broker did not start: %s", text);
}

static pid_t start(const struct hm_config *config, const char *cgroup, const char *word, int errors,
                   struct hm_error *error)
{
    const char *more = word ? word : config->lend_samples ? "--lend" : NULL;
    char run_dir[HM_CONFIG_PATH_MAX], last[16];
    char *arguments[] = {(char[]){"hybridmem-damon"}, (char[]){"--run-dir"}, run_dir, more ? last : NULL, NULL};
    char *environment[] = {(char[]){"LC_ALL=C"}, NULL};
    struct hm_spawn spawn = {.path = PROGRAM,
                             .arguments = arguments,
                             .environment = environment,
                             .extra = -1,
                             .errors = errors,
                             .cgroup = cgroup};
    snprintf(run_dir, sizeof(run_dir), "%s", config->run_dir);
    snprintf(last, sizeof(last), "%s", more ? more : "");
    return hm_spawn_start(&spawn, error);
}

static int start_broker(const struct hm_config *config, const char *home_cgroup, struct hm_error *error)
{
    int said[2];
    if (pipe2(said, O_CLOEXEC) != 0)
        return hm_fail_errno(error, "cannot start " PROGRAM);
    pid_t pid = start(config, home_cgroup, NULL, said[1], error);
    close(said[1]);
    int result = pid < 0 ? -1 : hear(said[0], error);
    close(said[0]);
    return result;
}

int hm_damon_ensure(const struct hm_config *config, const char *home_cgroup, struct hm_error *error)
{
    if (is_listening(config))
        return 0;
    hm_hurry_begin(); /* others wait for this lock, too */
    int lock = lock_start(config, error);
    int result = lock < 0 ? -1 : is_listening(config) ? 0 : start_broker(config, home_cgroup, error);
    hm_flock_close(lock);
    hm_hurry_end();
    return result;
}

/*
 * Opens the folder that has the state of a dead broker. Earlier versions kept these files elsewhere, and a broker of
 * theirs that lives on would make its state there again. So their files are moved here only while no broker listens.
 */
static int open_folder(const struct hm_config *config)
{
    int folder = hm_rundir_open_node(config->run_dir, NULL, NULL);
    if (folder < 0 || hm_rundir_has(folder, HM_DAMON_START) || is_listening(config))
        return folder;
    close(folder);
    return hm_damon_folder_open(config->run_dir, NULL);
}

static void clean(const struct hm_config *config, int folder)
{
    struct hm_error error = {{0}};
    pid_t pid = start(config, NULL, "--clean", -1, &error);
    int status = pid < 0 ? -1 : hm_spawn_wait_for(pid, CLEAN_PATIENCE_MS);
    if (pid > 0 && status < 0 && errno == ETIMEDOUT)
        hm_fail(&error, ETIMEDOUT, "hybridmem-damon --clean was killed after %d s; the next reap goes on",
                CLEAN_PATIENCE_MS / 1000);
    if (status != 0)
        hm_log(HM_LOG_ERROR, "cannot clear up after a dead DAMON broker: %s",
               error.text[0] ? error.text : "hybridmem-damon --clean failed");
    else if (!hm_rundir_has(folder, HM_DAMON_STATE))
        hm_log(HM_LOG_WARNING, "kdamonds that a dead DAMON broker had left are turned off");
}

void hm_damon_reap(const struct hm_config *config)
{
    int folder = open_folder(config);
    if (folder >= 0 && hm_rundir_has(folder, HM_DAMON_STATE) && !is_listening(config))
        clean(config, folder);
    if (folder >= 0)
        close(folder);
}
