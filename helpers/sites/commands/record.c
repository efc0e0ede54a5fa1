/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hybridmem sites record`: makes the profile of a process that goes on to execute a program, for the tasks of
 * --hybrid-mem=profile. The recorder is no child of the program, which may wait for its children.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/background.h"
#include "base/left.h"
#include "base/output.h"
#include "base/size.h"
#include "cli/trace/program.h"
#include "commands.h"
#include "keep.h"
#include "online.h"
#include "sites/guide/enter.h"
#include "watching.h"

#define NAME "hybridmem sites record"
#define HM_LATENCY_MOST 1000
#define RESULT 3 /* descriptor that gets one line at the end */

struct work {
    const char *name;  /* of the profile in the store */
    const char *input; /* of the profile; NULL: not said */
    pid_t pid;
    double overhead;    /* 0: the default */
    uint64_t period;    /* accesses per sample; 0: the source chooses */
    const char *broker; /* its socket; NULL: there is none */
    bool is_guided;     /* while it is recorded */
    struct hm_online_setup online;
    char **program;
    struct hm_watching watching;
};

static void print_help(void)
{
    puts("Usage: hybridmem sites record --name NAME --pid PID [OPTION]... -- PROGRAM\n"
         "       [ARGUMENT]...\n"
         "\n"
         "Makes the profile of a process that goes on to execute a program, and puts it\n"
         "into the user's store. Tasks of --hybrid-mem=profile start it; to profile a\n"
         "program yourself, use hybridmem sites run. It prints the profile's path, its\n"
         "own process, and the variable that the program needs, and goes on by itself.\n"
         "\n"
         "Options:\n"
         "  --name NAME         of the profile in the store\n"
         "  --pid PID           the process\n"
         "  --input-class TEXT  what kind of input this is, for the profile\n"
         "  --overhead PERCENT  of the CPUs' time, for sampling (default: 2%)\n"
         "  --guide NODES       guide the program, too, between the tiers' nodes, as in\n"
         "                      \"fast=0,1 slow=2,3\"; --overhead is for all of it then\n"
         "                      (default: 1%)\n"
         "  --fast SIZE         with --guide: of the fast tier, for its sites\n"
         "  --packer NAME       with --guide: how sites are chosen\n"
         "  --latency RATIO     with --guide: of the slow tier, as a multiple of the fast\n"
         "                      one's\n"
         "  --rate 1/N          sample one of N accesses, where the source can\n"
         "  --broker SOCKET     of hybridmem-damon, which lends events of the CPU's clock\n"
         "                      where the user may open none, and DAMON\n"
         "  -h, --help          this text\n"
         "  -V, --version       the version\n"
         "\n"
         "Exit status: 0, also where nothing can be recorded, as a line says; 1 it failed,\n"
         "2 wrong usage.");
}

/* ---------------------------------------------------------- in the background */

static void follow(struct work *work, int process)
{
    struct pollfd events[] = {{.fd = process, .events = POLLIN}, {.events = POLLIN}};
    do {
        events[1].fd = hm_sampler_fd(&work->watching.sampler);
        (void)poll(events, 2, hm_watching_look_ms(&work->watching));
        hm_watching_look(&work->watching);
    } while (!(events[0].revents & POLLIN));
    hm_watching_end(&work->watching);
}

/* Keeps the profile. `unsampled` is then why it has no accesses, or "". Returns 0, or -1 with a text. */
static int keep(struct work *work, char unsampled[HM_WARNING], struct hm_error *error)
{
    struct hm_watching *watching = &work->watching;
    struct hm_profile *profile = hm_watching_profile(watching, work->program, -1);
    int status = -1;
    if (profile && work->input)
        profile->class_text = strndup(work->input, HM_PROFILE_TEXT - 1);
    if (!profile || (work->input && !profile->class_text))
        hm_fail(error, ENOMEM, "out of memory");
    else if (profile->processes == 0)
        hm_fail(error, ENODATA, "%s was not seen: it did not load the library that notes allocations",
                work->program[0]);
    else
        status = hm_sites_keep(profile, watching->fit.build_id, work->name, error);
    if (status == 0 && !(hm_profile_all_accesses(profile) > 0)) {
        if (!profile->source && watching->sampler.why_last[0]) /* of the source that needs least: it matters most */
            snprintf(unsampled, HM_WARNING, "%s", watching->sampler.why_last);
        else
            hm_profile_unsampled(profile, unsampled, HM_WARNING);
    }
    hm_profile_free(profile);
    return status;
}

/* Says how it went: the accesses per sample, where there is such a number, why that is not as it was asked for, and why
 * there are no accesses; then what became of the profile. All at once, as recorders of other tasks leave theirs, too.
 */
static void say_result(const struct work *work, const char *unsampled, const char *key, const char *value)
{
    const struct hm_sampler *sampler = &work->watching.sampler;
    char period[32] = "", why[HM_SAMPLER_RATE],
         lines[sizeof(period) + HM_SAMPLER_RATE + HM_WARNING + PATH_MAX + HM_ERROR_TEXT];
    hm_sampler_explain_rate(sampler, why);
    if (sampler->state.name[0] && !sampler->state.is_time)
        snprintf(period, sizeof(period), "period %" PRIu64 "\n", sampler->state.period);
    int length =
        snprintf(lines, sizeof(lines), "%s%s%s%s%s%s%s%s %s\n", period, why[0] ? "unrated " : "", why,
                 why[0] ? "\n" : "", unsampled[0] ? "unsampled " : "", unsampled, unsampled[0] ? "\n" : "", key, value);
    (void)hm_left_add(RESULT, lines, (size_t)length); /* slurmstepd tells of recorders that have left nothing */
}

/* Returns the recorder's exit status. */
static int record(struct work *work, int process, const char *path)
{
    struct hm_error error = {""};
    char unsampled[HM_WARNING] = "";
    follow(work, process);
    if (work->watching.online)
        (void)hm_sites_online_write(work->watching.online, work->online.packer->name, work->watching.sampler.state.name,
                                    RESULT);
    int status = keep(work, unsampled, &error);
    hm_watching_close(&work->watching);
    say_result(work, unsampled, status == 0 ? "profile" : "failed", status == 0 ? path : error.text);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---------------------------------------------------------- before that */

/* Is there a program to be recorded, and a place for its profile? Returns 0 with the profile's path, or -1 with a
 * text. */
static int prepare(struct work *work, char path[PATH_MAX], struct hm_error *error)
{
    struct hm_watching *watching = &work->watching;
    const struct hm_sites_fit *fit = &watching->fit;
    if (hm_program_find(work->program[0], watching->path, error) != 0)
        return -1;
    hm_sites_fit(watching->path, true, &watching->fit);
    if (fit->why[0])
        return hm_fail(error, ENOEXEC, "%s %s%s", work->program[0], fit->why,
                       fit->preloadable == HM_PRELOADABLE ? "" : ": its allocations cannot be seen");
    return hm_sites_can_keep(fit->build_id, work->name, path, error);
}

static void begin(struct work *work, struct hm_error *error)
{
    double usual = work->is_guided ? HM_ONLINE_OVERHEAD : HM_WATCHING_OVERHEAD;
    double overhead = work->overhead > 0 ? work->overhead : usual;
    work->online.overhead = overhead;
    (void)hm_watching_begin(&work->watching, HM_SOURCE_AUTO, overhead, work->period, work->broker,
                            work->is_guided ? &work->online : NULL, error);
}

struct start {
    struct work *work;
    const char *path; /* of the profile */
};

/* Runs in the child: opens the recording, says so, and records. Returns the exit status. */
static int run_child(void *data, int out)
{
    struct start *start = data;
    struct work *work = start->work;
    struct hm_error error = {""};
    char line[sizeof(HM_SITES_FOLDER) + HM_SITES_PATH];
    int process = (int)syscall(SYS_pidfd_open, work->pid, 0);
    if (work->is_guided) /* the fast tier is the program's; where that fails, the memory is somewhere else */
        (void)hm_guide_set_policy(&work->online.layout, false, NULL);
    if (process < 0)
        hm_fail_errno(&error, "the process %d cannot be watched", (int)work->pid);
    else if (hm_watching_open(&work->watching, HM_WATCHING_LEAST, &error) == 0)
        begin(work, &error);
    snprintf(line, sizeof(line), HM_SITES_FOLDER " %s", work->watching.watch.folder);
    if (error.text[0])
        hm_background_fail(out, error.text);
    else if (hm_background_ready(out, line) == 0)
        return record(work, process, start->path);
    hm_watching_close(&work->watching);
    return EXIT_FAILURE;
}

/* Starts the recorder, and waits until it is ready. Returns 0, or -1 with a text. */
static int start(struct work *work, const char *path, struct hm_error *error)
{
    struct start start = {work, path};
    char line[HM_ERROR_TEXT + HM_SITES_PATH];
    pid_t pid = hm_background_start(run_child, &start, line, sizeof(line), error);
    if (pid < 0)
        return -1;
    printf("profile %s\nrecorder %d\n%s\n", path, (int)pid, line);
    return 0;
}

static int take_pid(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    uint64_t pid;
    if (hm_size_parse_number(text, 1, INT32_MAX, &pid, error) < 0)
        return -1;
    work->pid = (pid_t)pid;
    return 0;
}

static int take_overhead(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    return hm_watching_take_overhead(text, &work->overhead, error);
}

static int take_guide(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    work->is_guided = true;
    return hm_sites_take_nodes(text, &work->online.layout, error);
}

static int take_fast(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    return hm_size_parse(text, &work->online.capacity, error);
}

static int take_packer(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    work->online.packer = hm_packer_find(text, error);
    return work->online.packer ? 0 : -1;
}

static int take_latency(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    char *end;
    work->online.slow = strtod(text, &end);
    if (end > text && !*end && work->online.slow >= 1 && work->online.slow <= HM_LATENCY_MOST)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is out of range: use 1 to %d", text, HM_LATENCY_MOST);
}

static int take_rate(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    return hm_watching_take_rate(text, &work->period, error);
}

static int take_broker(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    return hm_watching_take_broker(text, &work->broker, error);
}

static int take_name(void *data, const char *text, struct hm_error *error)
{
    struct work *work = data;
    work->name = text;
    bool is_right = text[0] && text[0] != '.' && !strchr(text, '/') && strlen(text) < 64;
    return is_right ? 0 : hm_fail(error, EINVAL, "\"%.60s\" is no name of a file", text);
}

static int run(int argc, char **argv, struct work *work)
{
    const struct hm_word table[] = {{"name", .take = take_name},         {"pid", .take = take_pid},
                                    {"overhead", .take = take_overhead}, {"rate", .take = take_rate},
                                    {"guide", .take = take_guide},       {"fast", .take = take_fast},
                                    {"packer", .take = take_packer},     {"latency", .take = take_latency},
                                    {"broker", .take = take_broker},     {"input-class", .text = &work->input}};
    const struct hm_words words = {"sites record", print_help, table, sizeof(table) / sizeof(table[0]), work};
    char path[PATH_MAX];
    struct hm_error error = {""};
    int status = hm_words_parse_before(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!work->name || work->pid == 0 || optind == argc || !*argv[optind]) {
        fputs(NAME ": --name, --pid or the program is missing. Try '" NAME " --help'.\n", stderr);
        return HM_SITES_BAD;
    }
    work->program = argv + optind;
    status = prepare(work, path, &error) == 0 && start(work, path, &error) < 0 ? HM_SITES_FAILED : EXIT_SUCCESS;
    if (error.text[0])
        fprintf(stderr, NAME ": %s\n", error.text);
    return status;
}

int hm_sites_record(int argc, char **argv)
{
    struct work *work = calloc(1, sizeof(*work));
    if (!work) {
        fputs(NAME ": out of memory\n", stderr);
        return HM_SITES_FAILED;
    }
    work->online.packer = hm_packer_at(0);
    int status = run(argc, argv, work);
    free(work);
    return hm_output_end(NAME, 0, status);
}
