/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the command line of `hybridmem sites run`. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include "base/size.h"
#include "commands.h"
#include "run.h"
#include "watching.h"

static void print_help(void)
{
    puts("Usage: hybridmem sites run -o PROFILE [OPTION]... -- PROGRAM [ARGUMENT]...\n"
         "\n"
         "Runs a program, and notes where it allocates its memory and how much each of\n"
         "these sites is used. The program need not be compiled anew.\n"
         "\n"
         "Options:\n"
         "  -o, --output PROFILE  the profile to write\n"
         "  --input-class TEXT    what kind of input this is, for the profile\n"
         "  --least SIZE          smaller allocations are put together by their size\n"
         "                        (default: 4K)\n"
         "  --overhead PERCENT    of the CPUs' time, for sampling (default: 2%)\n"
         "  --rate 1/N            sample one of N accesses, where the source can (default:\n"
         "                        it chooses)\n"
         "  --source NAME         of samples: auto, perf, clock or damon (default: auto)\n"
         "  --broker SOCKET       of hybridmem-damon, for damon, and for clock where the\n"
         "                        user may open no events; in a step of a job alone\n"
         "  -h, --help            this text\n"
         "  -V, --version         the version\n"
         "\n"
         "Exit status: that of the program; 125 there is no profile, 126 the program\n"
         "cannot be run, 127 there is no such program, 2 wrong usage.");
}

static int take_least(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_run *options = data;
    if (hm_size_parse(text, &options->least_bytes, error) < 0)
        return -1;
    if (options->least_bytes > 0 && options->least_bytes <= HM_SITES_LEAST_MOST)
        return 0;
    return hm_fail(error, EINVAL, "\"%.40s\" is out of range: use 1 to 512K", text);
}

static int take_overhead(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_run *options = data;
    return hm_watching_take_overhead(text, &options->overhead, error);
}

static int take_rate(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_run *options = data;
    return hm_watching_take_rate(text, &options->period, error);
}

static int take_source(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_run *options = data;
    options->source = text;
    return hm_sampler_knows(text, error) ? 0 : -1;
}

static int take_broker(void *data, const char *text, struct hm_error *error)
{
    struct hm_sites_run *options = data;
    return hm_watching_take_broker(text, &options->broker, error);
}

int hm_sites_run_fail(const struct hm_sites_run *options, int status, const char *text)
{
    fprintf(stderr, "%s: %s\n", options->command, text);
    return status;
}

int hm_sites_run_parse(int argc, char **argv, struct hm_sites_run *options)
{
    const struct hm_word table[] = {
        {"output", .path = &options->output, .letter = 'o'},
        {"input-class", .text = &options->input_class},
        {"least", .take = take_least},
        {"overhead", .take = take_overhead},
        {"rate", .take = take_rate},
        {"source", .take = take_source},
        {"broker", .take = take_broker},
    };
    const struct hm_words words = {"sites run", print_help, table, sizeof(table) / sizeof(table[0]), options};
    *options = (struct hm_sites_run){.command = HM_SITES_RUN,
                                     .source = HM_SOURCE_AUTO,
                                     .overhead = HM_WATCHING_OVERHEAD,
                                     .least_bytes = HM_WATCHING_LEAST};
    int status = hm_words_parse_before(argc, argv, &words);
    if (status >= 0)
        return status;
    if (!options->output)
        return hm_sites_run_fail(options, HM_SITES_RUN_BAD,
                                 "-o is missing: name the profile, as in: hybridmem sites run -o "
                                 "app.json -- ./app");
    if (optind == argc || !*argv[optind])
        return hm_sites_run_fail(options, HM_SITES_RUN_BAD,
                                 "the program is missing: give one, as in: hybridmem sites run -o "
                                 "app.json -- ./app");
    options->program = argv + optind;
    return -1;
}
