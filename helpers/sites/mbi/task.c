/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hybridmem profile mbi task`: one run of a plan, whose program Slurm starts, for the tasks of
 * --hybrid-mem=profile,method=mbi. A process in the background counts until it is told that all tasks have ended.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/background.h"
#include "base/left.h"
#include "base/output.h"
#include "base/size.h"
#include "measure.h"

#define NAME "hybridmem profile mbi task"
#define RESULT 3   /* descriptor that tells the end (base/ended.h), and gets one line then */
#define LOOK_MS 20 /* between two looks if the tasks have ended */
#define LOOKS (HM_MBI_WRAP_MS / LOOK_MS)

struct work {
    struct hm_mbi_store store;
    struct hm_mbi_running running;
    struct hm_mbi_measure measure;
    bool counts;
};

static void print_help(void)
{
    puts("Usage: hybridmem profile mbi task [OPTION]... FOLDER RUN PROGRAM [ARGUMENT]...\n"
         "\n"
         "Says how a program that Slurm starts is placed in a run of a plan. Tasks of\n"
         "--hybrid-mem=profile,method=mbi use it; to run a plan yourself, there is\n"
         "hybridmem profile mbi run.\n"
         "\n"
         "Options:\n"
         "  --count        start a process that counts, and writes the result of the run\n"
         "                 once it is told by descriptor 3 that the tasks have ended\n"
         "  -h, --help     this text\n"
         "  -V, --version  the version\n"
         "\n"
         "Exit status: 0, also where the program is none of the plan's or the run is done,\n"
         "as a line says; 1 the run cannot be measured here, 2 there is no such run,\n"
         "or descriptor 3 is not as --count wants it.");
}

/* ---------------------------------------------------------- in the background */

static int follow(struct work *work, struct hm_error *error)
{
    int status;
    for (unsigned n = 1; !hm_ended_is_told(RESULT, &status); n++) {
        poll(NULL, 0, LOOK_MS);
        if (n % LOOKS == 0)
            hm_mbi_counters_read(&work->measure.counters);
    }
    return hm_mbi_measure_end(&work->measure, status, error);
}

/* Keeps the result, or why there is none. Returns 0, or -1 with a text. */
static int keep(struct work *work, bool has_failed, struct hm_error *error)
{
    struct hm_error unkept = {""};
    if (hm_mbi_measure_keep(&work->measure, error->text, &unkept) == 0)
        return has_failed ? -1 : 0;
    return hm_fail(error, EIO, "%s", unkept.text);
}

static int count(void *data, int out)
{
    struct work *work = data;
    struct hm_error error = {""};
    char line[sizeof(error.text) + 16];
    int status = -1;
    if (hm_mbi_measure_open(&work->measure, &error) < 0 || hm_mbi_measure_begin(&work->measure, &error) < 0) {
        keep(work, true, &error);
        hm_background_fail(out, error.text);
    } else if (hm_background_ready(out, "counts") == 0) {
        status = keep(work, follow(work, &error) < 0, &error);
        int length = snprintf(line, sizeof(line), "%s %s\n", status == 0 ? "counted" : "failed",
                              status == 0 ? "all" : error.text);
        (void)hm_left_add(RESULT, line, (size_t)length);
    }
    hm_mbi_measure_close(&work->measure);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* ---------------------------------------------------------- before that */

/* The absolute path of a program. Returns 0, or -1 with a text. */
static int find(const char *name, char path[PATH_MAX], char **build_id, struct hm_error *error)
{
    char found[PATH_MAX];
    if (hm_mbi_find_program(name, found, build_id, error) < 0)
        return -1;
    return realpath(found, path) ? 0 : hm_fail_errno(error, "%s", found);
}

/* Is it the program of the plan? One without a build-id, such as a script, is known by its path. Returns 0, or -1 with
 * a text. */
static int check_program(const struct work *work, const char *name, struct hm_error *error)
{
    const struct hm_mbi_plan *plan = &work->store.plan;
    char path[PATH_MAX], planned[PATH_MAX], *build_id = NULL, *unused = NULL;
    if (find(name, path, &build_id, error) < 0)
        return -1;
    bool is_same = build_id && plan->build_id && strcmp(build_id, plan->build_id) == 0;
    if (!build_id && !plan->build_id)
        is_same = chdir(plan->folder) == 0 && find(plan->word[0], planned, &unused, NULL) == 0 && !unused &&
                  strcmp(path, planned) == 0;
    free(build_id);
    free(unused);
    return is_same ? 0 : hm_fail(error, ESTALE, "%s is not the program of the plan %s", path, work->store.path);
}

/* Returns 0, or -1 with a text: the program runs as ever. */
static int prepare(const struct work *work, const char *name, size_t number, struct hm_error *error)
{
    if (check_program(work, name, error) < 0)
        return -1;
    if (!hm_mbi_store_is_done(&work->store, number))
        return 0;
    return hm_fail(error, EALREADY, "run %zu of %s is done", number, work->store.path);
}

/* Prints what the task needs. Returns 0, or -1 with a text. */
static int print(struct work *work, struct hm_error *error)
{
    static char text[HM_GUIDE_TEXT];
    const struct hm_mbi_measure *measure = &work->measure;
    struct hm_set others = {0};
    char nodes[1024], line[HM_ERROR_TEXT];
    pid_t pid = work->counts ? hm_background_start(count, work, line, sizeof(line), error) : 0;
    if (pid < 0)
        return -1;
    for (int i = 0; i < measure->told.n_nodes; i++)
        if (!measure->told.node[i].is_fast)
            hm_set_add(&others, (unsigned)measure->told.node[i].id);
    hm_guide_format(&measure->table, text);
    printf(HM_GUIDE_TABLE " %s\nnodes %s\n", text, hm_set_format(&others, nodes, sizeof(nodes)));
    if (pid > 0)
        printf("counter %d\n", (int)pid);
    return 0;
}

/* Returns the exit status, with a text where there is something to say. */
static int run(struct work *work, const char *folder, const char *run, const char *program, struct hm_error *error)
{
    uint64_t number = 0;
    if (work->counts && !hm_ended_has_place(RESULT)) { /* before anything else is opened as 3 */
        hm_fail(error, EBADF, "--count: descriptor %d cannot tell the end of a step: slurmstepd gives one that can",
                RESULT);
        return HM_MBI_BAD;
    }
    if (hm_mbi_store_open(&work->store, folder, error) < 0)
        return HM_MBI_BAD;
    size_t n = hm_mbi_plan_runs(&work->store.plan);
    if (hm_size_parse_number(run, 0, n - 1, &number, NULL) < 0) {
        hm_fail(error, ERANGE, "%s has the runs 0 to %zu, and no run %.24s", work->store.path, n - 1, run);
        return HM_MBI_BAD;
    }
    if (hm_mbi_store_results(&work->store, error) < 0)
        return HM_MBI_FAILED;
    if (prepare(work, program, (size_t)number, error) < 0)
        return EXIT_SUCCESS;
    hm_mbi_measure_init(&work->measure, &work->store, (size_t)number, &work->running);
    int status = hm_mbi_measure_choose(&work->measure, error);
    if (status < 0 && work->counts)
        keep(work, true, error);
    else if (status == 0)
        status = print(work, error);
    hm_mbi_measure_close(&work->measure);
    return status == 0 ? EXIT_SUCCESS : HM_MBI_FAILED;
}

int hm_mbi_task(int argc, char **argv)
{
    static struct work work;
    const struct hm_word table[] = {{"count", .flag = &work.counts}};
    const struct hm_words words = {"profile mbi task", print_help, table, sizeof(table) / sizeof(table[0]), NULL};
    struct hm_error error = {""};
    int status = hm_words_parse_before(argc, argv, &words);
    if (status >= 0)
        return status;
    if (argc < optind + 3)
        return hm_mbi_fail("task", HM_MBI_BAD, "the folder, the run or the program is missing. Try '" NAME " --help'.");
    status = run(&work, argv[optind], argv[optind + 1], argv[optind + 2], &error);
    if (error.text[0])
        hm_mbi_fail("task", status, error.text);
    hm_mbi_store_close(&work.store);
    return hm_output_end(NAME, 0, status);
}
