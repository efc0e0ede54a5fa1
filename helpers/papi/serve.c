/* SPDX-License-Identifier: Apache-2.0 */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "sets.h"

enum next { NEXT_READING, NEXT_END, NEXT_WAIT };

struct server {
    const struct hm_papi_serving *serving;
    int signals;
    bool watches_input; /* the program ends when its standard input ends */
    uint64_t due_ns;    /* time of the next reading, unless readings are asked for */
};

static char line[HM_PAPI_LINE_SIZE];

int hm_papi_take_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP};
    sigset_t ending;
    sigemptyset(&ending);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        signal(numbers[i], SIG_DFL);
        sigaddset(&ending, numbers[i]);
    }
    signal(SIGPIPE, SIG_IGN); /* a write fails with EPIPE instead */
    return sigprocmask(SIG_SETMASK, &ending, NULL) == 0 ? signalfd(-1, &ending, SFD_CLOEXEC) : -1;
}

/* Is it a pipe or a socket, whose other end another process holds? The end of a terminal or of a null device means
 * nothing. */
static bool is_pipe(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

/* Read one byte when standard input has one or has ended. Only the end of a line asks for a reading. */
static enum next take_input(const struct server *server)
{
    char byte;
    ssize_t length = read(STDIN_FILENO, &byte, 1);
    if (length < 0 && errno == EINTR)
        return NEXT_WAIT;
    if (length <= 0)
        return NEXT_END;
    return server->serving->is_asked && byte == '\n' ? NEXT_READING : NEXT_WAIT;
}

static enum next wait_for_next(const struct server *server)
{
    struct pollfd events[] = {{.fd = server->signals, .events = POLLIN},
                              {.fd = server->watches_input ? STDIN_FILENO : -1, .events = POLLIN}};
    for (;;) {
        uint64_t now = hm_clock_ns(CLOCK_MONOTONIC), left = server->due_ns > now ? server->due_ns - now : 0;
        struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        int ready = ppoll(events, 2, server->serving->is_asked ? NULL : &timeout, NULL);
        if (ready == 0)
            return NEXT_READING;
        if ((ready < 0 && errno != EINTR) || (ready > 0 && events[0].revents))
            return NEXT_END;
        enum next next = ready > 0 ? take_input(server) : NEXT_WAIT;
        if (next != NEXT_WAIT)
            return next;
    }
}

/* Print the lines that come before the first reading. */
static void describe(const struct hm_papi_library *library)
{
    printf("papi " HM_PAPI_LINES " %s\n", library->version);
    for (unsigned i = 0; i < library->n_components; i++) {
        const struct hm_papi_component *component = &library->component[i];
        if (!hm_papi_is_wanted(component->name))
            continue;
        if (component->is_in)
            printf("component %s in\n", component->name);
        else
            printf("component %s out %s\n", component->name, component->reason);
    }
    for (unsigned i = 0; i < library->n_found; i++)
        if (hm_papi_line_event(i, &library->found[i].event, line, sizeof(line)) > 0)
            fputs(line, stdout);
    printf("ready %u\n", library->n_found);
}

/* Read all events and print their line. Returns false with errno where the line cannot be written. */
static bool write_reading(struct hm_papi_sets *sets, struct hm_papi_library *library)
{
    static uint64_t value[HM_PAPI_MOST_EVENTS];
    static bool is_known[HM_PAPI_MOST_EVENTS];
    uint64_t at_ns = hm_clock_ns(CLOCK_MONOTONIC);
    alarm(HM_PAPI_ALARM_S);
    hm_papi_sets_read(sets, library, value, is_known);
    alarm(0);
    hm_papi_line_read(at_ns, value, is_known, library->n_found, line, sizeof(line));
    return fputs(line, stdout) >= 0 && fflush(stdout) == 0;
}

/* End because output could not be written. EPIPE means that nobody reads the output any more, which is a normal end.
 * Returns 0, or -1 with a text. */
static int end_unwritten(struct hm_error *error)
{
    return errno == EPIPE ? 0 : hm_fail_errno(error, "standard output");
}

int hm_papi_serve(const struct hm_papi_serving *serving, struct hm_papi_library *library, int signals,
                  struct hm_error *error)
{
    static struct hm_papi_sets sets;
    struct server server = {.serving = serving,
                            .signals = signals,
                            .watches_input = serving->is_asked || is_pipe(STDIN_FILENO),
                            .due_ns = hm_clock_ns(CLOCK_MONOTONIC)};
    if (hm_papi_sets_open(&sets, library, serving->is_named, error) != 0)
        return -1;
    alarm(0);
    describe(library);
    if (fflush(stdout) != 0)
        return end_unwritten(error);
    if (library->n_found == 0)
        return hm_fail(error, ENOENT, "PAPI has no event of energy or traffic on this machine (hybridmem papi --list)");
    for (uint64_t n = 0; serving->count == 0 || n < serving->count; n++) {
        if (wait_for_next(&server) == NEXT_END)
            break;
        if (!write_reading(&sets, library))
            return end_unwritten(error);
        server.due_ns += serving->interval_ms * 1000000;
    }
    return 0;
}
