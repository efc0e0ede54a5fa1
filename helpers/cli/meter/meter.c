/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-meter: shows the energy and the memory traffic of this node, from its counters. */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/output.h"
#include "base/words.h"
#include "core/config/config.h"
#include "core/tiers/tiers.h"
#include "core/topology/discover.h"
#include "options.h"
#include "print.h"

#define SECOND_NS UINT64_C(1000000000)
#define MOST_WAIT_NS SECOND_NS /* longest time between two readings: no counter wraps twice in it */

#define NAME "hybridmem meter"

enum { EXIT_NONE = 1 };

struct meter {
    const struct hm_meter_options *options;
    struct hm_counters_setup setup;
    struct hm_gauges gauges;
    struct hm_counters_tried tried[HM_METERS];
    int n_tried;
    struct hm_tiers *tiers;
    struct hm_flow flow[HM_MOST_FLOWS];
    char host[256];
    int signals;
    bool has_begun;
    uint64_t since_ns; /* CLOCK_MONOTONIC, when show_reading last read the counters */
};

static int fail(int status, const char *text)
{
    fprintf(stderr, NAME ": %s\n", text);
    return status;
}

/* Returns 0, or the exit status after an error message. */
static int open_folders(const struct hm_meter_options *options, struct hm_counters_setup *setup)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    struct hm_error error = {""};
    const char *sysfs = options->sysfs ? options->sysfs : "/sys";
    setup->resctrl = -1;
    setup->papi = options->sysfs ? NULL : HM_PKGLIBEXECDIR "/hybridmem-papi";
    setup->slurm = options->sysfs ? NULL : HM_PKGLIBEXECDIR "/hybridmem-slurmenergy";
    setup->not_asked = "hybridmem meter without --sysfs asks it";
    setup->is_list = options->list;
    setup->sysfs = open(sysfs, flags);
    if (setup->sysfs < 0) {
        hm_fail_errno(&error, "%s", sysfs);
        return fail(HM_WORDS_BAD, error.text);
    }
    setup->resctrl = options->resctrl ? open(options->resctrl, flags) : openat(setup->sysfs, "fs/resctrl", flags);
    setup->resctrl_why = errno;
    if (setup->resctrl >= 0 || !options->resctrl)
        return 0;
    hm_fail_errno(&error, "%s", options->resctrl);
    return fail(HM_WORDS_BAD, error.text);
}

/* Finds the node's tiers. Metering also works without them. Returns 0, or the exit status after an error message. */
static int find_tiers(const struct hm_meter_options *options, struct meter *meter)
{
    struct hm_error error = {""};
    struct hm_config *config = calloc(1, sizeof(*config));
    struct hm_tiers *tiers = calloc(1, sizeof(*tiers));
    int status = 0;
    if (!config || !tiers)
        status = fail(HM_WORDS_BAD, "no memory");
    else if (hm_config_read(options->config ? options->config : hm_config_path(), options->config != NULL, config,
                            &error) < 0 ||
             (hm_discover(options->topology, &tiers->topology, &error) < 0 && options->topology))
        status = fail(HM_WORDS_BAD, error.text);
    else if (error.text[0] || hm_tiers_group(&tiers->topology, config, tiers, &error) < 0)
        fprintf(stderr, NAME ": the tiers of this node are not known: %s\n", error.text);
    else
        meter->tiers = tiers;
    if (!meter->tiers)
        free(tiers);
    free(config);
    return status;
}

static int list(const struct meter *meter)
{
    const struct hm_meter_sources sources = {meter->host, meter->tried, meter->n_tried, &meter->gauges};
    int result = 0;
    if (!meter->options->json)
        hm_meterprint_list(stdout, &sources, hm_words_columns(stdout));
    else
        result = hm_meterprint_list_json(stdout, &sources);
    return hm_output_end(NAME, result, meter->gauges.n > 0 ? EXIT_SUCCESS : EXIT_NONE);
}

/*
 * Reads the counters, shows what was counted since the last reading, and clears the totals. Returns 0, or the exit
 * status after an error message.
 */
static int show_reading(struct meter *meter)
{
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
    struct hm_meter_reading reading = {.host = meter->host, .time_s = time(NULL), .flow = meter->flow};
    bool is_terminal = isatty(STDOUT_FILENO), is_first = !meter->has_begun;
    int result = 0;
    hm_gauges_read(&meter->gauges, now);
    reading.seconds = is_first ? 0 : (double)(now - meter->since_ns) / (double)SECOND_NS;
    reading.n = hm_flows_sum(&meter->gauges, meter->tried, meter->n_tried, meter->tiers, meter->flow);
    hm_gauges_clear(&meter->gauges);
    meter->since_ns = now;
    meter->has_begun = true;
    if (meter->options->json) {
        if (is_first && !meter->options->step)
            return 0;
        result = hm_meterprint_json(stdout, &reading);
    } else if (is_terminal && !meter->options->step) {
        struct hm_screen screen = hm_screen_measure();
        hm_screen_clear(stdout);
        hm_meterprint_screen(stdout, &reading, &screen);
    } else {
        if (is_first)
            hm_meterprint_legend(stdout, &reading);
        if (!is_first || meter->options->step)
            hm_meterprint_line(stdout, &reading);
    }
    return hm_output_end(NAME, result, EXIT_SUCCESS);
}

/* How a wait has ended. */
enum waited {
    WAITED_DUE,  /* the next reading is due */
    WAITED_MORE, /* no line and no end: the clock tells whether the next reading is due */
    WAITED_END   /* the program is to end */
};

/* Waits for a signal and, with --step, for a byte of standard input; at most until `until_ns`. */
static enum waited wait_once(const struct meter *meter, uint64_t until_ns)
{
    struct pollfd events[] = {{.fd = meter->signals, .events = POLLIN},
                              {.fd = meter->options->step ? STDIN_FILENO : -1, .events = POLLIN}};
    uint64_t now = hm_clock_ns(CLOCK_MONOTONIC), left = until_ns > now ? until_ns - now : 0;
    const struct timespec timeout = {.tv_sec = (time_t)(left / SECOND_NS), .tv_nsec = (long)(left % SECOND_NS)};
    char byte = '\0';
    int ready = ppoll(events, 2, &timeout, NULL);
    if (ready == 0 || (ready < 0 && errno == EINTR))
        return WAITED_MORE;
    if (ready < 0 || events[0].revents || read(STDIN_FILENO, &byte, 1) <= 0)
        return WAITED_END;
    return byte == '\n' ? WAITED_DUE : WAITED_MORE;
}

/* Waits until `due_ns` or, with --step, for a line. Meanwhile reads the counters, before any can wrap twice. */
static enum waited wait_for_next(struct meter *meter, uint64_t due_ns)
{
    uint64_t look_ns = hm_clock_ns(CLOCK_MONOTONIC) + MOST_WAIT_NS;
    for (;;) {
        enum waited waited = wait_once(meter, due_ns < look_ns ? due_ns : look_ns);
        uint64_t now = hm_clock_ns(CLOCK_MONOTONIC);
        if (waited != WAITED_MORE)
            return waited;
        if (now >= due_ns)
            return WAITED_DUE;
        if (now < look_ns)
            continue;
        if (meter->has_begun)
            hm_gauges_read(&meter->gauges, now);
        look_ns = now + MOST_WAIT_NS;
    }
}

static int run(struct meter *meter)
{
    const struct hm_meter_options *options = meter->options;
    const uint64_t interval_ns = options->interval_ms * 1000000;
    uint64_t due_ns = hm_clock_ns(CLOCK_MONOTONIC) + interval_ns;
    int status = options->step ? EXIT_SUCCESS : show_reading(meter);
    for (uint64_t n = 0; status == EXIT_SUCCESS && (options->count == 0 || n < options->count); n++) {
        if (wait_for_next(meter, options->step ? UINT64_MAX : due_ns) == WAITED_END)
            break;
        status = show_reading(meter);
        /* if this process was stopped for some intervals, they get no lines */
        while (due_ns <= hm_clock_ns(CLOCK_MONOTONIC))
            due_ns += interval_ns;
    }
    return status;
}

/* Blocks the signals that end the program: poll(2) sees them, so that no line is cut. Returns a descriptor, or -1. */
static int take_signals(void)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGINT);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGHUP);
    sigprocmask(SIG_BLOCK, &ending, NULL);
    return signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int start(struct meter *meter)
{
    int status = open_folders(meter->options, &meter->setup);
    if (status == 0 && !meter->options->list)
        status = find_tiers(meter->options, meter);
    if (status != 0)
        return status;
    gethostname(meter->host, sizeof(meter->host) - 1);
    meter->n_tried = hm_counters_find(&meter->setup, &meter->gauges, meter->tried);
    if (meter->options->list)
        return list(meter);
    if (meter->gauges.n == 0)
        return fail(EXIT_NONE, "no source of counters works here: hybridmem meter --list says why");
    meter->signals = take_signals();
    if (meter->signals < 0)
        return fail(HM_WORDS_BAD, strerror(errno));
    return run(meter);
}

int main(int argc, char **argv)
{
    struct hm_meter_options options = {0};
    int status = hm_meter_parse(argc, argv, &options);
    if (status >= 0)
        return status;
    setlocale(LC_CTYPE, "");
    struct meter *meter = calloc(1, sizeof(*meter));
    if (!meter)
        return fail(HM_WORDS_BAD, "no memory");
    meter->options = &options;
    status = start(meter);
    hm_gauges_close(&meter->gauges, 0);
    free(meter->tiers);
    free(meter);
    return status;
}
