/* SPDX-License-Identifier: Apache-2.0 */
/* `hybridmem profile mbi run`: one run of a plan, or all that are not done, one after the other. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "alloc/preload.h"
#include "base/size.h"
#include "cli/trace/program.h"
#include "commands.h"

#define SELF HM_PKGLIBEXECDIR "/hybridmem-profile"

static void print_help(void)
{
    puts("Usage: hybridmem profile mbi run [OPTION]... FOLDER [RUN]\n"
         "\n"
         "Runs the program of a plan with one part of its memory in the slow tier, and\n"
         "counts the traffic of that tier. RUN is the number of a run, as a task of the\n"
         "job array has it; without it, all that are not done follow one another, and a\n"
         "run that fails does not end this. Nothing else should run on the node then.\n"
         "\n"
         "Options:\n"
         "  --again              run it also where it is done; without RUN, run all\n"
         "  --nodes LIST         the tiers' NUMA nodes, as in \"fast=0,1 slow=2,3\"\n"
         "                       (default: those that hybridmem tiers shows)\n"
         "  --topology FILE.xml  take the tiers from hwloc's XML instead of this machine\n"
         "  -h, --help           this text\n"
         "  -V, --version        the version\n"
         "\n"
         "Exit status: 0 done; 1 a run failed, and its result says why; 2 wrong usage, or\n"
         "no plan.");
}

struct options {
    struct hm_mbi_running running;
    struct hm_layout layout;
    char topology[PATH_MAX];
};

static int take_nodes(void *data, const char *text, struct hm_error *error)
{
    struct options *options = data;
    options->running.has_nodes = true;
    if (hm_preload_parse_nodes(text, &options->layout, NULL) == 0)
        return 0;
    return hm_fail(error, EINVAL,
                   "\"%.60s\" is wrong: write fast=NODE,... slow=NODE,..., each node as NODE or NODE@SOCKET", text);
}

/* The program is started in the plan's folder, so what is named from this one would not be found there. */
static int make_absolute(struct options *options, struct hm_error *error)
{
    if (!realpath(options->running.topology, options->topology))
        return hm_fail_errno(error, "%s", options->running.topology);
    options->running.topology = options->topology;
    return 0;
}

/* Runs this program for one run. Returns its wait status, or -1 after a line. */
static int start_one(char **argv, int n_words, const char *folder, size_t number)
{
    struct hm_error error = {""};
    struct hm_program program;
    char text[24];
    char **words = calloc((size_t)n_words + 6, sizeof(*words));
    int n = 0;
    if (!words)
        return hm_mbi_fail("run", -1, "out of memory");
    snprintf(text, sizeof(text), "%zu", number);
    words[n++] = (char[]){SELF};
    words[n++] = (char[]){"mbi"};
    for (int i = 0; i < n_words; i++)
        words[n++] = argv[i];
    words[n++] = (char *)(uintptr_t)folder;
    words[n++] = text;
    int status = hm_program_start(&program, SELF, words, -1, -1, &error);
    free(words);
    if (status < 0) {
        hm_program_leave(&program);
        return hm_mbi_fail("run", -1, error.text);
    }
    while (!program.has_ended) {
        struct pollfd events = {.fd = program.signals, .events = POLLIN};
        if (poll(&events, 1, -1) >= 0)
            hm_program_attend(&program);
    }
    if (WIFSIGNALED(program.status))
        exit(hm_program_end(&program));
    hm_program_leave(&program);
    return program.status;
}

/* Each run has a process of its own: its memory policy and environment are not those of the next. */
static int run_all(const struct hm_mbi_store *store, char **argv, int n_words, bool again)
{
    size_t n = hm_mbi_plan_runs(&store->plan);
    int status = EXIT_SUCCESS;
    for (size_t i = 0; i < n; i++) {
        if (hm_mbi_store_is_done(store, i) && !again)
            continue;
        fprintf(stderr, "hybridmem profile mbi run: run %zu of 0 to %zu\n", i, n - 1);
        if (start_one(argv, n_words, store->path, i) != 0)
            status = HM_MBI_FAILED;
    }
    return status;
}

static int run(int argc, char **argv, const struct options *options, struct hm_mbi_store *store)
{
    struct hm_error error = {""};
    uint64_t number = 0;
    if (hm_mbi_store_open(store, argv[optind], &error) < 0)
        return hm_mbi_fail("run", HM_MBI_BAD, error.text);
    if (optind + 1 < argc &&
        hm_size_parse_number(argv[optind + 1], 0, hm_mbi_plan_runs(&store->plan) - 1, &number, &error) < 0)
        return hm_mbi_fail("run", HM_MBI_BAD, error.text);
    if (hm_mbi_store_results(store, &error) < 0)
        return hm_mbi_fail("run", HM_MBI_FAILED, error.text);
    if (optind + 1 == argc)
        return run_all(store, argv, optind, options->running.again);
    if (hm_mbi_store_is_done(store, (size_t)number) && !options->running.again) {
        printf("run %s is done\n", argv[optind + 1]);
        return EXIT_SUCCESS;
    }
    return hm_mbi_run_one(store, (size_t)number, &options->running);
}

int hm_mbi_run(int argc, char **argv)
{
    static struct options options;
    const struct hm_word table[] = {
        {"again", .flag = &options.running.again},
        {"nodes", .take = take_nodes},
        {"topology", .path = &options.running.topology},
    };
    const struct hm_words words = {"profile mbi run", print_help, table, sizeof(table) / sizeof(table[0]), &options};
    struct hm_mbi_store store = {.path = ""};
    struct hm_error error = {""};
    options.running.layout = &options.layout;
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind == argc)
        return hm_mbi_fail("run", HM_MBI_BAD, "the folder is missing: name one that hybridmem profile mbi plan made");
    if (argc > optind + 2)
        return hm_words_refuse(&words, argv[optind + 2]);
    if (options.running.topology && make_absolute(&options, &error) < 0)
        return hm_mbi_fail("run", HM_MBI_BAD, error.text);
    status = run(argc, argv, &options, &store);
    hm_mbi_store_close(&store);
    return status;
}
