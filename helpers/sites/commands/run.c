/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites run`: runs a program, and makes its profile by allocation site. */
#include "run.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/installed.h"
#include "cli/trace/program.h"
#include "commands.h"
#include "online.h"
#include "sites/guide/enter.h"
#include "watching.h"

#define SATURATED 0.5 /* of the accesses: with fewer, the profile still tells most of the sites apart */

struct work {
    struct hm_sites_run options;
    struct hm_newfile file;
    struct hm_watching watching;
    struct hm_program program;
};

static void tell(const struct work *work, const char *text)
{
    fprintf(stderr, "%s: %s %s\n", work->options.command, work->options.program[0], text);
}

/* A program that would break runs without the library, and so does all that it starts. */
static int set_environment(const struct work *work, struct hm_error *error)
{
    if (work->watching.fit.preloadable == HM_PRELOADABLE_BREAKS)
        return 0;
    if (hm_preloadable_put(hm_sites_library(), error) != 0)
        return -1;
    return setenv(HM_SITES_FOLDER, work->watching.watch.folder, 1) == 0 ? 0 : hm_fail(error, ENOMEM, "out of memory");
}

/* Follows the program to its end. Processes that it leaves behind are not waited for. */
static void follow(struct work *work)
{
    enum { SIGNALS, SAMPLES, N_EVENTS };
    while (!work->program.has_ended) {
        struct pollfd events[N_EVENTS] = {
            [SIGNALS] = {.fd = work->program.signals, .events = POLLIN},
            [SAMPLES] = {.fd = hm_sampler_fd(&work->watching.sampler), .events = POLLIN},
        };
        if (poll(events, N_EVENTS, hm_watching_look_ms(&work->watching)) < 0)
            continue;
        hm_watching_look(&work->watching);
        if (events[SIGNALS].revents)
            hm_program_attend(&work->program);
    }
    hm_watching_end(&work->watching);
}

/* Says in one line why there is nothing in the profile, where that is so. */
static void explain(const struct work *work, const struct hm_profile *profile)
{
    if (hm_watch_is_torn()) {
        tell(work, "has cut off the recording: the profile has only a part of what it did");
        return;
    }
    if (profile->processes == 0 && !work->watching.fit.why[0]) /* else it was said before it was started */
        tell(work, "was not seen: it did not load the library that notes allocations, as a program with rights of "
                   "others does not");
    else if (profile->processes > 0 && profile->n_sites == 0)
        tell(work, "has allocated nothing that was seen: it may have a malloc of its own");
    if (profile->left_out > 0 && work->options.output)
        fprintf(stderr,
                "%s: allocations that are not in the profile, as their site was new in a child of a process with "
                "threads, or as there was no room: %llu\n",
                work->options.command, (unsigned long long)profile->left_out);
}

/* Says in one line that the looks did not tell hot memory from the hottest, where that is so for most. */
static void explain_looks(const struct work *work, const struct hm_profile *profile)
{
    double share = profile->saturated / hm_profile_all_accesses(profile);
    if (share > SATURATED)
        fprintf(stderr,
                "%s: saturated: %.0f %% of what was used was in use at nearly every look of DAMON's, and may be used "
                "more than the profile says: a larger --overhead lets it look more often\n",
                work->options.command, 100 * fmin(share, 1));
}

/* Says in one line why samples were not taken at the rate that was asked for. */
static void explain_rate(const struct work *work)
{
    char why[HM_SAMPLER_RATE];
    hm_sampler_explain_rate(&work->watching.sampler, why);
    if (why[0])
        fprintf(stderr, HM_SITES_RUN ": --rate 1/%llu is not what was sampled: %s\n",
                (unsigned long long)work->options.period, why);
}

static int write_profile(struct work *work, struct hm_error *error)
{
    int status = work->program.status;
    int exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    const char *class_text = work->options.input_class;
    struct hm_profile *profile = hm_watching_profile(&work->watching, work->options.program, exit_code);
    if (!profile)
        return hm_fail(error, ENOMEM, "no profile: out of memory");
    profile->class_text = class_text ? strndup(class_text, HM_PROFILE_TEXT - 1) : NULL;
    int result = work->options.output ? hm_sites_write(profile, &work->file, error) : 0;
    if (result == 0) {
        explain(work, profile);
        explain_rate(work);
        explain_looks(work, profile);
    }
    hm_profile_free(profile);
    return result;
}

/* Starts the program, whose memory policy is the one that this process has then. What this one needs itself to guide it
 * is not in the fast tier. Returns 0, or the exit status with a text. */
static int start(struct work *work, struct hm_error *error)
{
    const struct hm_sites_run *options = &work->options;
    if (options->online && hm_guide_set_policy(&options->online->layout, true, error) != 0)
        return HM_SITES_RUN_FAILED;
    int status = hm_program_start(&work->program, work->watching.path, options->program, -1, -1, error);
    if (options->online)
        (void)hm_guide_set_policy(&options->online->layout, false, NULL);
    return status == 0 ? 0 : HM_SITES_RUN_CANNOT_RUN;
}

/* Returns 0, or the exit status with a text. */
static int run(struct work *work, struct hm_error *error)
{
    const struct hm_sites_run *options = &work->options;
    struct hm_watching *watching = &work->watching;
    if (options->output && hm_newfile_open(&work->file, options->output, "app.json", error) != 0)
        return HM_SITES_RUN_FAILED;
    if (hm_program_find(options->program[0], watching->path, error) != 0)
        return errno == ENOENT ? HM_SITES_RUN_NOT_FOUND : HM_SITES_RUN_CANNOT_RUN;
    hm_sites_fit(watching->path, false, &watching->fit);
    if (watching->fit.why[0])
        fprintf(stderr, "%s: %s %s: its allocations cannot be seen, and are not in the profile\n", options->command,
                options->program[0], watching->fit.why);
    if (options->online) /* before the table is made, which is a part of our memory */
        (void)hm_guide_set_policy(&options->online->layout, false, NULL);
    if (hm_watching_open(watching, options->least_bytes, error) != 0 || set_environment(work, error) != 0)
        return HM_SITES_RUN_FAILED;
    if (hm_watching_begin(watching, options->source, options->overhead, options->period, options->broker,
                          options->online, error) != 0)
        return HM_SITES_RUN_FAILED;
    int status = start(work, error);
    if (status != 0)
        return status;
    follow(work);
    if (options->online && watching->watch.table->processes > 0) /* else a line says why it was not seen */
        hm_sites_online_tell(watching->online, options->command);
    return write_profile(work, error) == 0 ? 0 : HM_SITES_RUN_FAILED;
}

int hm_sites_run_program(const struct hm_sites_run *options)
{
    struct hm_error error = {""};
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return hm_sites_run_fail(options, HM_SITES_RUN_FAILED, "out of memory");
    work->options = *options;
    work->file.fd = -1;
    int status = run(work, &error);
    hm_watching_close(&work->watching);
    hm_newfile_close(&work->file);
    const struct hm_program program = work->program;
    free(work);
    return status != 0 ? hm_sites_run_fail(options, status, error.text) : hm_program_end(&program);
}

int hm_sites_run(int argc, char **argv)
{
    struct hm_sites_run options;
    int status = hm_sites_run_parse(argc, argv, &options);
    return status >= 0 ? status : hm_sites_run_program(&options);
}
