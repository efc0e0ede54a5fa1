/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-damon: the broker that lends kdamonds to migrators. Migrators run as the jobs' users and may not use DAMON
 * themselves. The broker runs as root with the few capabilities that perf needs, parses nothing but process ids and
 * addresses (damon/wire.h), and ends by itself when nobody has used it for a while. If it is killed, the next broker or
 * `hybridmem reap` turns its kdamonds off.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/size.h"
#include "caps.h"
#include "lease.h"

#define CLIENTS 64
#define CLIENTS_OF_USER 16
#define SECOND_NS UINT64_C(1000000000)
#define SILENCE_NS (10 * SECOND_NS) /* how long a new client may wait with its first message */
#define PAUSE_NS (SECOND_NS / 2)    /* shortest time between two messages of a client, as each restarts a kdamond */
#define DEFAULT_IDLE_S 60
#define LOCK "damon.lock"
#define LOCK_PATIENCE_MS 5000
#define LOCK_PAUSE_MS 20
#define OPEN_FILES (CLIENTS * (HM_DAMON_TARGETS + 4))

struct daemon {
    struct hm_damon_broker broker;
    struct hm_damon_lease lease[CLIENTS];
    int listener, signals;
    uint32_t n_clients;        /* clients so far */
    uint64_t idle_ns, used_ns; /* how long it may be without clients, and when it last had one */
};

static int say(const char *text)
{
    fprintf(stderr, "hybridmem-damon: %s\n", text);
    return 1;
}

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

/* Takes the lock. If its holder does not listen, it is starting or ending, and is waited for. */
static bool take_lock(int fd, const char *run_dir)
{
    for (int waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited_ms += LOCK_PAUSE_MS) {
        if (waited_ms >= LOCK_PATIENCE_MS || is_listening(run_dir))
            return false;
        poll(NULL, 0, LOCK_PAUSE_MS);
    }
    return true;
}

/* Makes this the only broker in run_dir, for as long as it lives. Returns the descriptor of the lock, or -1. */
static int lock(const char *run_dir, bool may_wait, struct hm_error *error)
{
    char path[300];
    struct stat status;
    if (stat(run_dir, &status) != 0)
        return hm_fail_errno(error, "cannot use the folder %s", run_dir);
    if (status.st_uid != 0 || (status.st_mode & 022) != 0)
        return hm_fail(error, EPERM, "the folder %s must belong to root and be writable by nobody else", run_dir);
    snprintf(path, sizeof(path), "%s/" LOCK, run_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return hm_fail_errno(error, "cannot open %s", path);
    if (may_wait ? take_lock(fd, run_dir) : flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    hm_fail(error, EBUSY, "another broker runs in %s", run_dir);
    close(fd);
    return -1;
}

static int listen_in(const char *run_dir, struct hm_error *error)
{
    struct sockaddr_un address;
    if (name_socket(run_dir, &address, error) != 0)
        return -1;
    int fd = open_socket();
    if (fd >= 0 && (unlink(address.sun_path) == 0 || errno == ENOENT) &&
        bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 && chmod(address.sun_path, 0666) == 0 &&
        listen(fd, CLIENTS) == 0)
        return fd;
    hm_fail_errno(error, "cannot listen on %s", address.sun_path);
    if (fd >= 0)
        close(fd);
    return -1;
}

static void stop_listening(int listener)
{
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    if (getsockname(listener, (struct sockaddr *)&address, &length) == 0)
        unlink(address.sun_path);
    close(listener);
}

static void accept_client(struct daemon *daemon)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    struct hm_damon_lease *free_one = NULL;
    unsigned of_user = 0;
    int fd = accept4(daemon->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    daemon->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
        close(fd);
        return;
    }
    for (int c = 0; c < CLIENTS; c++) {
        if (daemon->lease[c].fd < 0)
            free_one = &daemon->lease[c];
        else
            of_user += daemon->lease[c].uid == peer.uid;
    }
    if (!free_one || (peer.uid != 0 && of_user >= CLIENTS_OF_USER))
        close(fd);
    else
        hm_damon_lease_open(free_one, ++daemon->n_clients, fd, peer.uid, peer.pid);
}

/*
 * A client's shortest time between two messages. A message that names hundreds of processes costs thousands of writes
 * to sysfs: with these pauses one client takes at most 1/HM_DAMON_KDAMONDS of the broker's time.
 */
static uint64_t pause_ns(const struct hm_damon_lease *lease)
{
    uint64_t pause = HM_DAMON_KDAMONDS * lease->served_ns;
    return pause > PAUSE_NS ? pause : PAUSE_NS;
}

/* Messages of a client are handled one at a time, with pauses between them. */
static bool may_speak(const struct hm_damon_lease *lease, uint64_t now)
{
    return lease->asked_ns == 0 || now - lease->asked_ns >= pause_ns(lease);
}

static void work(struct daemon *daemon, const struct pollfd *events)
{
    for (int c = 0; c < CLIENTS; c++) {
        struct hm_damon_lease *lease = &daemon->lease[c];
        bool is_gone = false;
        if (lease->fd < 0)
            continue;
        daemon->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
        if (events[c].fd == lease->fd && events[c].revents & POLLIN)
            is_gone = !hm_damon_lease_serve(&daemon->broker, lease);
        else if (events[c].fd == lease->fd && events[c].revents)
            is_gone = true;
        else if (lease->asked_ns == 0 && daemon->used_ns - lease->since_ns > SILENCE_NS)
            is_gone = true;
        if (is_gone)
            hm_damon_lease_close(&daemon->broker, lease);
        else
            hm_damon_lease_work(&daemon->broker, lease);
    }
}

/* Sets which descriptors poll waits for. Returns the longest wait in ms. */
static int prepare(const struct daemon *daemon, struct pollfd *events)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    int wait_ms = (int)(daemon->idle_ns / (SECOND_NS / 1000)) + 1;
    for (int c = 0; c < CLIENTS; c++) {
        const struct hm_damon_lease *lease = &daemon->lease[c];
        events[c] = (struct pollfd){.fd = lease->fd, .events = may_speak(lease, now) ? POLLIN : 0};
        if (lease->fd < 0)
            continue;
        int due_ms = hm_damon_lease_wait_ms(lease);
        if (due_ms < 0 || !may_speak(lease, now))
            due_ms = PAUSE_NS * 1000 / SECOND_NS;
        wait_ms = due_ms < wait_ms ? due_ms : wait_ms;
    }
    return wait_ms;
}

/* Serves clients until a signal ends the broker, or it has been idle for long enough. */
static void serve(struct daemon *daemon)
{
    struct pollfd events[CLIENTS + 2];
    for (;;) {
        int wait_ms = prepare(daemon, events);
        events[CLIENTS] = (struct pollfd){.fd = daemon->listener, .events = POLLIN};
        events[CLIENTS + 1] = (struct pollfd){.fd = daemon->signals, .events = POLLIN};
        if (poll(events, CLIENTS + 2, wait_ms) < 0 && errno != EINTR)
            return;
        if (events[CLIENTS + 1].revents)
            return;
        work(daemon, events);
        if (events[CLIENTS].revents)
            accept_client(daemon);
        if (hm_clock_ns(CLOCK_MONOTONIC) - daemon->used_ns >= daemon->idle_ns)
            return;
    }
}

static int take_signals(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_SETMASK, &ending, NULL);
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * Tells the process that started the broker that it is ready. That process reads our standard error to its end; an end
 * without any text means "it listens".
 */
static void tell_ready(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0 && dup2(null, STDERR_FILENO) >= 0)
        close(null);
}

static int run(struct daemon *daemon, const char *run_dir, bool only_clean)
{
    struct hm_error error = {{0}};
    struct hm_damon_broker *broker = &daemon->broker;
    struct rlimit files = {.rlim_cur = OPEN_FILES, .rlim_max = OPEN_FILES};
    int held = lock(run_dir, !only_clean, &error);
    if (held < 0)
        return only_clean && errno == EBUSY ? 0 : say(error.text);
    snprintf(broker->state_path, sizeof(broker->state_path), "%s/" HM_DAMON_STATE, run_dir);
    bool is_known = hm_damon_take_over(broker->state_path, &broker->owned, &error) == 0;
    if (only_clean)
        return is_known && hm_damon_remove(broker->state_path, &broker->owned, &error) == 0 ? 0 : say(error.text);
    /* not an error: if it cannot be told which kdamonds are ours, none is touched, and each request looks again */
    error = (struct hm_error){{0}};
    setrlimit(RLIMIT_NOFILE, &files);
    hm_damon_tracepoint_find(&broker->layout, &broker->problem);
    if (hm_damon_caps_drop(&error) != 0)
        return say(error.text);
    daemon->signals = take_signals();
    daemon->listener = listen_in(run_dir, &error);
    if (daemon->signals < 0 || daemon->listener < 0)
        return say(error.text[0] ? error.text : "cannot take signals");
    for (int c = 0; c < CLIENTS; c++)
        daemon->lease[c].fd = -1;
    daemon->used_ns = hm_clock_ns(CLOCK_MONOTONIC);
    tell_ready();
    serve(daemon);
    stop_listening(daemon->listener);
    for (int c = 0; c < CLIENTS; c++)
        if (daemon->lease[c].fd >= 0)
            hm_damon_lease_close(broker, &daemon->lease[c]);
    return hm_damon_remove(broker->state_path, &broker->owned, NULL) == 0 ? 0 : 1;
}

static int use(const char *why)
{
    fprintf(stderr,
            "hybridmem-damon: %s\n"
            "usage: hybridmem-damon --run-dir DIR [--kdamonds N] [--idle SECONDS]\n"
            "       hybridmem-damon --run-dir DIR --clean\n",
            why);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"run-dir", required_argument, NULL, 'r'},
                                            {"kdamonds", required_argument, NULL, 'k'},
                                            {"idle", required_argument, NULL, 'i'},
                                            {"clean", no_argument, NULL, 'c'},
                                            {0}};
    uint64_t kdamonds = HM_DAMON_KDAMONDS, idle_s = DEFAULT_IDLE_S;
    const char *run_dir = NULL;
    bool only_clean = false;
    prctl(PR_SET_DUMPABLE, 0);
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'r')
            run_dir = optarg;
        if (option == 'k' && hm_size_parse_number(optarg, 1, HM_DAMON_KDAMONDS, &kdamonds, NULL) != 0)
            return use("--kdamonds wants a number from 1 to 16");
        if (option == 'i' && hm_size_parse_number(optarg, 1, 86400, &idle_s, NULL) != 0)
            return use("--idle wants seconds from 1 to 86400");
        if (option == 'c')
            only_clean = true;
        if (option == '?')
            return 2;
    }
    if (!run_dir || run_dir[0] != '/' || strlen(run_dir) > 256 || optind != argc)
        return use("--run-dir wants the absolute path of a folder, and nothing else is needed");
    if (geteuid() != 0)
        return use("DAMON belongs to root: it must run as root");
    struct daemon *daemon = calloc(1, sizeof(*daemon));
    if (!daemon)
        return say("no memory");
    daemon->broker.n_wanted = (unsigned)kdamonds;
    daemon->idle_ns = idle_s * SECOND_NS;
    umask(077);
    int status = run(daemon, run_dir, only_clean);
    free(daemon);
    return status;
}
