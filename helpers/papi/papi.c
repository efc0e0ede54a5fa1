/* SPDX-License-Identifier: Apache-2.0 */
/* hybridmem-papi: reads PAPI's counters for the meter. PAPI may end the process that calls it (exit status 127 where a
 * register cannot be read). So it gets a process of its own, and no other program of hybridmem is linked with PAPI. */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/size.h"
#include "base/words.h"
#include "list.h"
#include "meter/papi/input.h"
#include "serve.h"

#define MOST_NAMED 32

struct options {
    bool list, json, read;
    bool has_interval, has_count;
    struct hm_papi_serving serving;
    const char *named[MOST_NAMED];
    unsigned n_named;
};

static struct hm_papi_library library;

static void print_help(void)
{
    printf("Usage: hybridmem papi --list [--json]\n"
           "       hybridmem papi --read [--interval TIME | --ask] [--count N]\n"
           "                            [--event NAME]...\n"
           "\n"
           "Reads PAPI's counters of energy and traffic for hybridmem meter, which starts\n"
           "it.\n"
           "\n"
           "  --list           PAPI's components: each in or out of use, the reason if it\n"
           "                   is out, and its events of energy and traffic\n"
           "  --json           the list as one JSON object\n"
           "  --read           describe the events, then write their raw values, a line for\n"
           "                   each reading\n"
           "  --interval TIME  time between two readings (1s): digits and ms, s, min or h\n"
           "  --ask            a reading for each line of standard input instead, until that\n"
           "                   ends\n"
           "  --count N        end after N readings\n"
           "  --event NAME     this event, by PAPI's name for it, instead of those of the\n"
           "                   list; up to %d times\n"
           "  -h, --help       this text\n"
           "  -V, --version    the version\n"
           "\n"
           "Exit status: 0 listed, all readings written, or told to end; 1 PAPI cannot do\n"
           "it, or the output cannot be written; 2 wrong usage; another one is PAPI's.\n",
           MOST_NAMED);
}

static int take_interval(void *data, const char *argument, struct hm_error *error)
{
    struct options *options = data;
    options->has_interval = true;
    if (hm_size_parse_duration(argument, &options->serving.interval_ms, error) != 0)
        return -1;
    if (options->serving.interval_ms >= 10 && options->serving.interval_ms <= 3600000)
        return 0;
    return hm_fail(error, ERANGE, "\"%.40s\" is not a time of 10ms to 1h", argument);
}

static int take_count(void *data, const char *argument, struct hm_error *error)
{
    struct options *options = data;
    options->has_count = true;
    return hm_size_parse_number(argument, 1, UINT32_MAX, &options->serving.count, error);
}

static int take_event(void *data, const char *argument, struct hm_error *error)
{
    struct options *options = data;
    if (options->n_named == MOST_NAMED)
        return hm_fail(error, 0, "more than %d", MOST_NAMED);
    options->named[options->n_named++] = argument;
    options->serving.is_named = true;
    return 0;
}

/* Check that the options go together. Returns NULL, or what is wrong. */
static const char *check(const struct options *options)
{
    bool has_more = options->has_interval || options->has_count || options->serving.is_asked || options->n_named > 0;
    if (options->list == options->read)
        return "say --list or --read";
    if (options->list && has_more)
        return "--interval, --ask, --count and --event go with --read";
    if (options->read && options->json)
        return "--json goes with --list";
    return options->serving.is_asked && options->has_interval ? "--ask or --interval, not both" : NULL;
}

/* Returns -1 to go on, or the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
    const struct hm_word table[] = {
        {"list", .flag = &options->list},    {"json", .flag = &options->json},
        {"read", .flag = &options->read},    {"ask", .flag = &options->serving.is_asked},
        {"interval", .take = take_interval}, {"count", .take = take_count},
        {"event", .take = take_event},
    };
    const struct hm_words words = {"papi", print_help, table, sizeof(table) / sizeof(table[0]), options};
    int status = hm_words_parse(argc, argv, &words);
    if (status >= 0)
        return status;
    if (optind < argc)
        return hm_words_refuse(&words, argv[optind]);
    const char *wrong = check(options);
    if (wrong)
        fprintf(stderr, "hybridmem papi: %s. Try 'hybridmem papi --help'.\n", wrong);
    return wrong ? HM_WORDS_BAD : -1;
}

/* Returns the exit status. */
static int list(const struct options *options)
{
    hm_papi_library_find(&library);
    int result = 0;
    if (options->json)
        result = hm_papi_list_json(&library);
    else
        hm_papi_list_text(&library);
    return hm_output_end("hybridmem papi", result, EXIT_SUCCESS);
}

static int read_events(const struct options *options, int signals, struct hm_error *error)
{
    for (unsigned i = 0; i < options->n_named; i++)
        if (hm_papi_library_add(&library, options->named[i], error) != 0)
            return -1;
    if (!options->serving.is_named)
        hm_papi_library_find(&library);
    return hm_papi_serve(&options->serving, &library, signals, error);
}

int main(int argc, char **argv)
{
    struct options options = {.serving = {.interval_ms = 1000}};
    struct hm_error error = {""};
    int status = parse_options(argc, argv, &options), signals, result;
    if (status >= 0)
        return status;
    signals = hm_papi_take_signals();
    if (options.serving.is_asked) {
        hm_papi_input_watch();
        alarm(HM_PAPI_ALARM_S);
    }
    result = hm_papi_library_open(&library, &error);
    if (result == 0 && options.list)
        return list(&options);
    if (result == 0 && read_events(&options, signals, &error) == 0)
        return EXIT_SUCCESS;
    fprintf(stderr, "hybridmem papi: %s\n", error.text);
    if (options.serving.is_asked && printf("error %s\n", error.text) > 0)
        (void)fflush(stdout);
    return EXIT_FAILURE;
}
