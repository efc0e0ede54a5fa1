/* SPDX-License-Identifier: Apache-2.0 */
/* One run of a plan, whose program is started here. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/trace/program.h"
#include "measure.h"
#include "sites/guide/enter.h"

struct work {
    struct hm_mbi_measure measure;
    struct hm_program program;
    char path[PATH_MAX];
};

static int check_program(struct work *work, struct hm_error *error)
{
    const struct hm_mbi_plan *plan = &work->measure.store->plan;
    char *build_id = NULL;
    if (chdir(plan->folder) < 0)
        return hm_fail_errno(error, "%s", plan->folder);
    if (hm_mbi_find_program(plan->word[0], work->path, &build_id, error) < 0)
        return -1;
    bool is_same = build_id && plan->build_id ? strcmp(build_id, plan->build_id) == 0 : build_id == plan->build_id;
    free(build_id);
    return is_same ? 0
                   : hm_fail(error, ESTALE, "%s is another build than that of the plan: make a new plan", work->path);
}

/* Follows the program to its end. */
static void follow(struct work *work)
{
    while (!work->program.has_ended) {
        struct pollfd events = {.fd = work->program.signals, .events = POLLIN};
        if (poll(&events, 1, HM_MBI_WRAP_MS) == 0)
            hm_mbi_counters_read(&work->measure.counters);
        else
            hm_program_attend(&work->program);
    }
}

/* Runs the program, and fills in the result. Returns 0, or -1 with the reason why there is none. */
static int measure(struct work *work, struct hm_error *error)
{
    struct hm_mbi_measure *measure = &work->measure;
    if (check_program(work, error) < 0 || hm_mbi_measure_choose(measure, error) < 0 ||
        hm_mbi_measure_open(measure, error) < 0 || hm_guide_enter(&measure->table, &measure->told, error) < 0 ||
        hm_mbi_measure_begin(measure, error) < 0 ||
        hm_program_start(&work->program, work->path, measure->store->plan.word, -1, -1, error) != 0)
        return -1;
    follow(work);
    return hm_mbi_measure_end(measure, work->program.status, error);
}

/* Was the program ended by a signal after which nothing more is wanted? */
static bool is_stopped(const struct hm_program *program)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (program->has_ended && WIFSIGNALED(program->status) && WTERMSIG(program->status) == numbers[i])
            return true;
    return false;
}

int hm_mbi_run_one(const struct hm_mbi_store *store, size_t number, const struct hm_mbi_running *options)
{
    struct hm_error error = {""}, unkept = {""};
    struct work *work = calloc(1, sizeof(*work));
    if (!work)
        return hm_mbi_fail("run", HM_MBI_FAILED, "out of memory");
    hm_mbi_measure_init(&work->measure, store, number, options);
    int status = measure(work, &error) < 0 ? hm_mbi_fail("run", HM_MBI_FAILED, error.text) : EXIT_SUCCESS;
    if (hm_mbi_measure_keep(&work->measure, error.text, &unkept) < 0)
        status = hm_mbi_fail("run", HM_MBI_FAILED, unkept.text);
    hm_mbi_measure_close(&work->measure);
    const struct hm_program program = work->program;
    free(work);
    return is_stopped(&program) ? hm_program_end(&program) : status;
}
