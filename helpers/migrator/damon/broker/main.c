/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hybridmem-damon: the broker that lends kdamonds to migrators. Migrators run as the jobs' users and may not use DAMON
 * themselves. The broker runs as root with few capabilities (caps.h). It serves root and the steps of jobs alone, takes
 * nothing from a client but messages of numbers in a fixed layout (migrator/damon/wire.h), and ends by itself when
 * nobody has used it for a while. If it is killed, the next broker or `hybridmem reap` turns its kdamonds off.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"
#include "caps.h"
#include "clients.h"
#include "listener.h"
#include "migrator/damon/folder.h"

#define DEFAULT_IDLE_S 60 /* time without a client after which the broker ends */
/* For each client, the descriptors of its processes and a few more; for each kdamond, two for each page of a burst;
 * events on their way to a client, and connections in which some were left. */
#define OPEN_FILES                                                                                                     \
    (HM_DAMON_CLIENTS * (HM_DAMON_TARGETS + 4) + HM_DAMON_KDAMONDS * 2 * HM_DAMON_MOST_PROBES + HM_DAMON_THREADS +     \
     HM_DAMON_UNREAD)

static int say(const char *text)
{
    fprintf(stderr, "hybridmem-damon: %s\n", text);
    return 1;
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

/* Drops capabilities, then opens the signals and the socket for clients. Returns 0, or -1 with a text. */
static int open_clients(struct hm_damon_clients *clients, const char *run_dir, struct hm_error *error)
{
    if (hm_damon_caps_drop(clients->broker->idle.bits >= 0, error) != 0)
        return -1;
    clients->signals = take_signals();
    if (clients->signals < 0)
        return hm_fail_errno(error, "cannot take signals");
    clients->listener = hm_damon_listener_open(run_dir, error);
    return clients->listener < 0 ? -1 : 0;
}

/* Sets the path of the state file, and moves the file there from where an earlier version had it. The caller has the
 * lock. Returns 0 or -1. */
static int place_state(struct hm_damon_broker *broker, const char *run_dir, struct hm_error *error)
{
    int folder = hm_damon_folder_open(run_dir, error);
    if (folder < 0)
        return -1;
    close(folder);
    hm_rundir_node_path(run_dir, HM_DAMON_STATE, broker->state_path, sizeof(broker->state_path));
    return 0;
}

static int run(struct hm_damon_broker *broker, struct hm_damon_clients *clients, const char *run_dir, bool only_clean)
{
    struct hm_error error = {{0}};
    struct rlimit files = {.rlim_cur = OPEN_FILES, .rlim_max = OPEN_FILES};
    int held = hm_damon_listener_lock(run_dir, !only_clean, &error);
    if (held < 0)
        return only_clean && errno == EBUSY ? 0 : say(error.text);
    if (place_state(broker, run_dir, &error) != 0)
        return say(error.text);
    bool is_known = hm_damon_take_over(broker->state_path, &broker->owned, &error) == 0;
    if (only_clean)
        return is_known && hm_damon_remove(broker->state_path, &broker->owned, &error) == 0 ? 0 : say(error.text);
    /* not an error: if it cannot be told which kdamonds are ours, none is touched, and each request looks again */
    error = (struct hm_error){{0}};
    setrlimit(RLIMIT_NOFILE, &files);
    hm_damon_tracepoint_find(&broker->layout, &broker->problem);
    hm_idle_open(&broker->idle, &broker->no_idle);
    if (open_clients(clients, run_dir, &error) != 0)
        return say(error.text);
    int kept = hm_damon_tracepoint_keep(&broker->layout);
    tell_ready();
    hm_damon_clients_serve(clients);
    hm_damon_listener_close(clients->listener);
    hm_damon_clients_close(clients);
    hm_idle_close(&broker->idle);
    if (kept >= 0)
        close(kept);
    return hm_damon_remove(broker->state_path, &broker->owned, NULL) == 0 ? 0 : 1;
}

static int use(const char *why)
{
    fprintf(stderr,
            "hybridmem-damon: %s\n"
            "usage: hybridmem-damon --run-dir DIR [--kdamonds N] [--idle SECONDS] [--lend]\n"
            "       hybridmem-damon --run-dir DIR --clean\n",
            why);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"run-dir", required_argument, NULL, 'r'}, {"kdamonds", required_argument, NULL, 'k'},
        {"idle", required_argument, NULL, 'i'},    {"clean", no_argument, NULL, 'c'},
        {"lend", no_argument, NULL, 'l'},          {0}};
    uint64_t kdamonds = HM_DAMON_KDAMONDS, idle_s = DEFAULT_IDLE_S;
    const char *run_dir = NULL;
    bool only_clean = false, lends = false;
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
        if (option == 'l')
            lends = true;
        if (option == '?')
            return 2;
    }
    if (!run_dir || run_dir[0] != '/' || strlen(run_dir) > 256 || optind != argc)
        return use("--run-dir wants the absolute path of a folder, and nothing else is needed");
    if (geteuid() != 0)
        return use("only root may use DAMON: run hybridmem-damon as root");
    struct hm_damon_clients *clients = calloc(1, sizeof(*clients));
    if (!clients)
        return say("no memory");
    struct hm_damon_broker broker = {.n_wanted = (unsigned)kdamonds, .lends = lends};
    hm_damon_clients_init(clients, &broker, idle_s);
    clients->run_dir = run_dir;
    umask(077);
    int status = run(&broker, clients, run_dir, only_clean);
    free(clients);
    return status;
}
