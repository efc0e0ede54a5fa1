/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem sites run`: runs a program, and makes its profile by allocation site. */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/moment.h"
#include "cli/trace/program.h"
#include "commands.h"
#include "series.h"
#include "sites/record/sampler.h"

#define LOOK_MS 20 /* between two looks at small allocations, new processes and new threads */

struct work {
    struct hm_sites_run options;
    struct hm_newfile file;
    struct hm_watch watch;
    struct hm_series *series;
    struct hm_sampler sampler;
    struct hm_program program;
    struct hm_buildid_file executable;
    char path[PATH_MAX];
    time_t start;
};

static void tell(const struct work *work, const char *text)
{
    fprintf(stderr, HM_SITES_RUN ": %s %s\n", work->options.program[0], text);
}

/* Puts the library into the environment that the program gets, before others that are there. */
static int set_environment(const struct work *work, struct hm_error *error)
{
    const char *others = getenv("LD_PRELOAD");
    char *preload = NULL;
    int status = asprintf(&preload, "%s%s%s", hm_sites_library(), others && *others ? ":" : "", others ? others : "");
    if (status >= 0)
        status = setenv("LD_PRELOAD", preload, 1) == 0 ? setenv(HM_SITES_FOLDER, work->watch.folder, 1) : -1;
    free(status >= 0 ? preload : NULL);
    return status == 0 ? 0 : hm_fail(error, ENOMEM, "out of memory");
}

/* Follows the program to its end. Processes that it leaves behind are not waited for. */
static void follow(struct work *work)
{
    enum { SIGNALS, SAMPLES, N_EVENTS };
    while (!work->program.has_ended) {
        struct pollfd events[N_EVENTS] = {
            [SIGNALS] = {.fd = work->program.signals, .events = POLLIN},
            [SAMPLES] = {.fd = hm_sampler_fd(&work->sampler), .events = POLLIN},
        };
        if (poll(events, N_EVENTS, LOOK_MS) < 0)
            continue;
        hm_sampler_read(&work->sampler, hm_watch_look(&work->watch));
        hm_series_look(work->series, &work->watch);
        if (events[SIGNALS].revents)
            hm_program_attend(&work->program);
    }
    hm_sampler_read(&work->sampler, false);
    hm_watch_end(&work->watch);
    hm_series_look(work->series, &work->watch);
}

/* The command in one line; the caller frees it. NULL: no memory. */
static char *join(char *const *words)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    for (int i = 0; words[i] && ftell(out) < HM_PROFILE_TEXT / 2; i++)
        fprintf(out, "%s%.*s", i > 0 ? " " : "", HM_PROFILE_TEXT / 2 - 2, words[i]);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Fills in what the recording does not know. Returns 0, or -1. */
static int describe(const struct work *work, struct hm_profile *profile)
{
    const struct hm_sampler *sampler = &work->sampler;
    char moment[HM_MOMENT];
    int status = work->program.status;
    profile->command = join(work->options.program);
    profile->program = strdup(work->path);
    profile->start = strdup(hm_moment_format(work->start, moment));
    profile->build_id = work->executable.build_id[0] ? strdup(work->executable.build_id) : NULL;
    profile->class_text = work->options.input_class ? strndup(work->options.input_class, HM_PROFILE_TEXT - 1) : NULL;
    profile->source = sampler->state.name[0] ? strdup(sampler->state.name) : NULL;
    profile->why = sampler->why[0] ? strdup(sampler->why) : NULL;
    profile->unit = sampler->state.is_time ? 0 : sampler->state.unit;
    profile->lost = sampler->state.lost;
    profile->exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return profile->command && profile->program && profile->start ? 0 : -1;
}

/* Says in one line why there is nothing in the profile, where that is so. */
static void explain(const struct work *work, const struct hm_profile *profile)
{
    if (hm_watch_is_torn()) {
        tell(work, "has cut off the recording: the profile has only a part of what it did");
        return;
    }
    if (profile->processes == 0 && !work->executable.build_id[0] && !work->executable.is_dynamic)
        return; /* said before it was started */
    if (profile->processes == 0 && work->executable.is_dynamic)
        tell(work, "was not seen: it did not load the library that notes allocations, as a program with rights of "
                   "others does not");
    else if (profile->processes > 0 && profile->n_sites == 0)
        tell(work, "has allocated nothing that was seen: it may have a malloc of its own");
    if (profile->left_out > 0)
        fprintf(stderr, HM_SITES_RUN ": allocations that are not in the profile, as there was no room: %llu\n",
                (unsigned long long)profile->left_out);
}

static int write_profile(struct work *work, struct hm_error *error)
{
    struct hm_profile *profile = calloc(1, sizeof(*profile));
    int status = -1;
    if (profile && hm_watch_report(&work->watch, work->sampler.state.name[0] != '\0', profile) == 0 &&
        describe(work, profile) == 0) {
        hm_series_report(work->series, &work->watch, profile);
        status = hm_sites_write(profile, &work->file, error);
    } else {
        hm_fail(error, ENOMEM, "no profile: out of memory");
    }
    if (status == 0)
        explain(work, profile);
    hm_profile_free(profile);
    return status;
}

/* Returns 0, or the exit status with a text. */
static int run(struct work *work, struct hm_error *error)
{
    const struct hm_sites_run *options = &work->options;
    if (hm_newfile_open(&work->file, options->output, "app.json", error) != 0)
        return HM_SITES_RUN_FAILED;
    if (hm_program_find(options->program[0], work->path, error) != 0)
        return errno == ENOENT ? HM_SITES_RUN_NOT_FOUND : HM_SITES_RUN_CANNOT_RUN;
    bool is_elf = hm_buildid_look(work->path, &work->executable, NULL) == 0;
    if (is_elf && !work->executable.is_dynamic)
        tell(work, "is linked statically: its allocations cannot be seen, and are not in the profile");
    if (hm_watch_open(&work->watch, options->least_bytes, error) != 0 || set_environment(work, error) != 0)
        return HM_SITES_RUN_FAILED;
    work->series = hm_series_open(); /* without it the profile is without series */
    hm_sampler_open(&work->sampler, &work->watch, options->source, options->overhead);
    work->start = time(NULL);
    hm_watch_begin(&work->watch);
    if (hm_program_start(&work->program, work->path, options->program, -1, -1, error) != 0)
        return HM_SITES_RUN_CANNOT_RUN;
    follow(work);
    return write_profile(work, error) == 0 ? 0 : HM_SITES_RUN_FAILED;
}

int hm_sites_run(int argc, char **argv)
{
    struct hm_error error = {""};
    struct hm_sites_run options;
    int status = hm_sites_run_parse(argc, argv, &options);
    if (status >= 0)
        return status;
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return hm_sites_run_fail(HM_SITES_RUN_FAILED, "out of memory");
    work->options = options;
    work->file.fd = -1;
    status = run(work, &error);
    hm_sampler_close(&work->sampler);
    hm_series_close(work->series);
    hm_watch_close(&work->watch);
    hm_newfile_close(&work->file);
    const struct hm_program program = work->program;
    free(work);
    return status != 0 ? hm_sites_run_fail(status, error.text) : hm_program_end(&program);
}
